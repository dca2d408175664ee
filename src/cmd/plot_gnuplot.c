/* Curves in a file, which gnuplot draws: a child with the program on its standard input. */
#include "cmd/plot.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/thread.h"

#define PLOT_PATIENCE 120.0        /* seconds                                         */
#define PLOT_POINTS   200          /* more have no marks of their own                 */

extern char **environ;

/* --- the program ----------------------------------------------------------------------- */

/* In single quotes nothing but the quote itself has a meaning. */
static enum rs_status
put_quoted(const char *text, struct buffer *out)
{
	RS_TRY(buffer_append(out, "'", 1));
	for (; *text != '\0'; text++) {
		const int is_control = (unsigned char)*text < ' ' || *text == 0x7f;

		RS_TRY(buffer_append(out, is_control ? "?" : text, 1));
		if (*text == '\'')
			RS_TRY(buffer_append(out, text, 1));
	}
	return buffer_append(out, "'", 1);
}

static enum rs_status
put_number(double value, struct buffer *out)
{
	char text[32];

	return buffer_printf(out, "%s", number_print_double(text, value));
}

/* A blank line parts a curve. */
static enum rs_status
put_points(const struct plot_series *s, struct buffer *out)
{
	int has_line = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->point[i].y)) {
			if (has_line)
				RS_TRY(buffer_printf(out, "\n"));
			has_line = 0;
			continue;
		}
		RS_TRY(put_number(s->point[i].x, out));
		RS_TRY(buffer_printf(out, " "));
		RS_TRY(put_number(s->point[i].y, out));
		RS_TRY(buffer_printf(out, "\n"));
		has_line = 1;
	}
	return RS_OK;
}

static int
has_value(const struct plot_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->point[i].y))
			return 1;
	return 0;
}

static enum rs_status
put_axes(const struct plot *p, struct buffer *out)
{
	static const char *const name[] = {
		[PLOT_ROWS] = "rows", [PLOT_TIME] = "seconds since the start",
		[PLOT_EPOCH] = "epoch", [PLOT_PERIOD] = "period (UTC)",
	};

	RS_TRY(buffer_printf(out, "set xlabel '%s'\nset ylabel ", name[p->axis]));
	RS_TRY(put_quoted(p->metric, out));
	RS_TRY(buffer_printf(out, "\nset key below\nset grid\nset style data linespoints\n"));
	if (p->axis == PLOT_PERIOD)
		RS_TRY(buffer_printf(out, "set xdata time\nset timefmt '%%s'\n"
			"set format x \"%%Y-%%m-%%d\\n%%H:%%M\"\n"));
	return RS_OK;
}

enum rs_status
plot_script(const struct plot *p, const char *format, struct buffer *out)
{
	const char *between = "plot ";

	if (strcmp(format, "svg") == 0)
		RS_TRY(buffer_printf(out, "set terminal svg size 960,540 noenhanced "
			"background rgb 'white'\n"));
	else
		RS_TRY(buffer_printf(out, "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) "
			"set terminal pngcairo size 960,540 noenhanced; "
			"else set terminal png size 960,540 noenhanced\n"));
	RS_TRY(put_axes(p, out));
	for (size_t s = 0; s < p->n; s++) {
		if (!has_value(&p->series[s]))
			continue;
		RS_TRY(buffer_printf(out, "$curve%zu << END_OF_CURVE\n", s));
		RS_TRY(put_points(&p->series[s], out));
		RS_TRY(buffer_printf(out, "END_OF_CURVE\n"));
	}
	for (size_t s = 0; s < p->n; s++) {
		if (!has_value(&p->series[s]))
			continue;
		RS_TRY(buffer_printf(out, "%s$curve%zu using 1:2 %stitle ", between, s,
			p->series[s].n > PLOT_POINTS ? "with lines " : ""));
		RS_TRY(put_quoted(p->series[s].name, out));
		between = ", ";
	}
	return buffer_printf(out, "\n");
}

/* --- the child ------------------------------------------------------------------------- */

/* Files in memory: what it is told, what it draws, what it complains of. */
struct child { pid_t pid; int in, out, complaints; };

static enum rs_status
open_files(const struct buffer *script, struct child *c)
{
	c->in = memfd_create("script", MFD_CLOEXEC);
	c->out = memfd_create("drawing", MFD_CLOEXEC);
	c->complaints = memfd_create("complaints", MFD_CLOEXEC);
	if (c->in < 0 || c->out < 0 || c->complaints < 0)
		return rs_fail(RS_ERESOURCE, "cannot make a file in memory: %s", strerror(errno));
	for (size_t done = 0; done < script->n; ) {
		const ssize_t n = write(c->in, script->data + done, script->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rs_fail(RS_ERESOURCE, "cannot write to memory: %s",
				strerror(errno));
		done += (size_t)n;
	}
	if (lseek(c->in, 0, SEEK_SET) != 0)
		return rs_fail(RS_ERESOURCE, "cannot read from memory: %s", strerror(errno));
	return RS_OK;
}

static void
close_files(struct child *c)
{
	const int fd[] = { c->in, c->out, c->complaints };

	for (size_t i = 0; i < sizeof fd / sizeof *fd; i++)
		if (fd[i] >= 0)
			(void)close(fd[i]);
}

static enum rs_status
start(struct child *c)
{
	char *const argv[] = { (char *)"gnuplot", (char *)"-d", (char *)"-", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_adddup2(&actions, c->in, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, c->out, STDOUT_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, c->complaints, STDERR_FILENO);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	const int error = posix_spawnp(&c->pid, argv[0], &actions, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (error == 0)
		return RS_OK;
	if (error != ENOENT)
		return rs_fail(RS_ERESOURCE, "cannot start gnuplot: %s", strerror(error));
	rs_fail(RS_ERESOURCE, "gnuplot, which draws .svg and .png files, is not installed");
	return rs_hint("install it, or leave -O out for a plot in characters");
}

/* *status as of waitpid(). */
static enum rs_status
wait_for(const struct child *c, int *status)
{
	const struct timespec pause = { 0, 5000000 };
	const double end = clock_seconds() + PLOT_PATIENCE;

	for (;;) {
		const pid_t pid = waitpid(c->pid, status, WNOHANG);

		if (pid == c->pid)
			return RS_OK;
		if (pid < 0 && errno != EINTR)
			return rs_fail(RS_ERESOURCE, "the end of gnuplot is not known: %s",
				strerror(errno));
		if (clock_seconds() > end)
			break;
		(void)nanosleep(&pause, NULL);
	}
	(void)kill(c->pid, SIGKILL);
	(void)waitpid(c->pid, status, 0);
	return rs_fail(RS_ERESOURCE, "gnuplot had not finished after %.0f seconds", PLOT_PATIENCE);
}

/* The whole file; *text NULL: it is empty. */
static enum rs_status
read_back(int fd, char **text, size_t *n)
{
	struct stat st;

	*text = NULL;
	*n = 0;
	if (fstat(fd, &st) != 0 || st.st_size < 0)
		return rs_fail(RS_ERESOURCE, "cannot look at memory: %s", strerror(errno));
	if (st.st_size == 0)
		return RS_OK;
	RS_TRY(memory_alloc((size_t)st.st_size + 1, 1, text));
	while (*n < (size_t)st.st_size) {
		const ssize_t got = pread(fd, *text + *n, (size_t)st.st_size - *n, (off_t)*n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		*n += (size_t)got;
	}
	return RS_OK;
}

/* What it says last but its own farewell is why. */
static enum rs_status
fail_child(const struct child *c, int status)
{
	char *text, escaped[72];
	size_t n;
	const char *why = "";

	RS_TRY(read_back(c->complaints, &text, &n));
	for (char *line = text; line != NULL && *line != '\0'; ) {
		char *const end = line + strcspn(line, "\n");

		while (*line == ' ' || *line == '^')
			line++;
		if (line < end)
			why = rs_escape(escaped, line, (size_t)(end - line));
		line = *end == '\0' ? end : end + 1;
	}
	free(text);
	if (WIFSIGNALED(status))
		return rs_fail(RS_ERESOURCE, "gnuplot was ended by signal %d", WTERMSIG(status));
	return rs_fail(RS_ERESOURCE, "gnuplot failed%s%s", *why != '\0' ? ": " : "", why);
}

static enum rs_status
draw(struct child *c, const char *path)
{
	char *drawing;
	size_t n;
	int status;

	RS_TRY(start(c));
	RS_TRY(wait_for(c, &status));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return fail_child(c, status);
	RS_TRY(read_back(c->out, &drawing, &n));
	if (n == 0)
		return fail_child(c, status);
	const enum rs_status written = file_replace(path, drawing, n);
	free(drawing);
	return written;
}

static const char *
format_of(const char *path)
{
	const char *const dot = strrchr(path, '.');

	if (dot != NULL && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0))
		return dot + 1;
	return NULL;
}

enum rs_status
plot_check_path(const char *path)
{
	if (format_of(path) != NULL)
		return RS_OK;
	rs_fail(RS_EUSAGE, "-O '%s': the name of a plot ends in .svg or .png", path);
	return rs_hint("without -O it is drawn in characters");
}

enum rs_status
plot_file(const struct plot *p, const char *path)
{
	struct child c = { .in = -1, .out = -1, .complaints = -1 };
	struct buffer script;

	RS_TRY(plot_check_path(path));
	buffer_init(&script, PLOT_BYTES);
	enum rs_status status = plot_script(p, format_of(path), &script);
	if (status == RS_OK)
		status = open_files(&script, &c);
	if (status == RS_OK)
		status = draw(&c, path);
	close_files(&c);
	buffer_free(&script);
	return status;
}
