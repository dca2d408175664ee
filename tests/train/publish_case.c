/* Small versions and kills at every change of a file system. */
#include "publish_case.h"

#include "tests/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "train/manifest.h"
#include "train/publish.h"

/* --- kills -------------------------------------------------------------------------- */

static unsigned kill_before;            /* 0: never                                    */

static void
change(void)
{
	if (kill_before > 0 && --kill_before == 0)
		kill(getpid(), SIGKILL);
}

static void *
original(const char *name)
{
	void *const symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL)
		abort();
	return symbol;
}

/* These stand before those of the C library. */
#define CHANGE(name, parameters, arguments) \
	int name parameters; \
	int name parameters \
	{ \
		int (*call) parameters; \
		void *const symbol = original(#name); \
		memcpy(&call, &symbol, sizeof call); \
		change(); \
		return call arguments; \
	}
CHANGE(rename, (const char *a, const char *b), (a, b))
CHANGE(link, (const char *a, const char *b), (a, b))
CHANGE(symlink, (const char *a, const char *b), (a, b))
CHANGE(mkdir, (const char *a, mode_t b), (a, b))
CHANGE(unlink, (const char *a), (a))
CHANGE(unlinkat, (int a, const char *b, int c), (a, b, c))

int publish_case_no_exchange;

int renameat2(int a, const char *b, int c, const char *d, unsigned e);
int
renameat2(int a, const char *b, int c, const char *d, unsigned e)
{
	int (*call)(int, const char *, int, const char *, unsigned);
	void *const symbol = original("renameat2");

	memcpy(&call, &symbol, sizeof call);
	change();
	if (!publish_case_no_exchange)
		return call(a, b, c, d, e);
	errno = EINVAL;
	return -1;
}

/* Only the kernel could tell; it takes most of the time. */
int fsync(int fd);
int
fsync(int fd)
{
	(void)fd;
	change();
	return 0;
}

int
publish_case_killed(void (*act)(void *), void *context, unsigned n)
{
	int how;
	const pid_t pid = fork_within(60);

	assert_true(pid >= 0);
	if (pid == 0) {
		kill_before = n;
		act(context);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
		return 0;
	assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
	return 1;
}

/* --- versions ----------------------------------------------------------------------- */

static void
keep_warning(void *context, const char *text)
{
	struct publish_case *const c = context;

	c->warnings++;
	snprintf(c->warning, sizeof c->warning, "%s", text);
}

int
publish_case_set_up(void **state)
{
	struct publish_case *const c = calloc(1, sizeof *c);
	const struct log_sink sink = { keep_warning, c };

	assert_non_null(c);
	snprintf(c->root, sizeof c->root, "/tmp/publish.XXXXXX");
	assert_non_null(mkdtemp(c->root));
	snprintf(c->model, sizeof c->model, "%s/model", c->root);
	snprintf(c->serve, sizeof c->serve, "%s/serve", c->root);
	snprintf(c->log, sizeof c->log, "%s/log", c->root);
	snprintf(c->command, sizeof c->command,
		"echo $RECSYS_VERSION $RECSYS_MODEL $RECSYS_PUBLISHED >>%s", c->log);
	c->s = (struct incremental_settings){
		.publish = c->serve, .publish_keep = 3, .command = c->command,
		.command_timeout = 60,
	};
	publish_case_clear(c);
	log_set_sink(&sink);
	*state = c;
	return 0;
}

int
publish_case_tear_down(void **state)
{
	struct publish_case *const c = *state;

	log_set_sink(NULL);
	assert_int_equal(file_remove_tree(c->root), RS_OK);
	free(c);
	return 0;
}

void
publish_case_clear(struct publish_case *c)
{
	assert_int_equal(file_remove_tree(c->model), RS_OK);
	assert_int_equal(file_remove_tree(c->serve), RS_OK);
	assert_int_equal(file_make_directories(c->model), RS_OK);
	unlink(c->log);
	c->warnings = 0;
	c->warning[0] = '\0';
}

void
publish_case_version(struct publish_case *c, uint64_t version, enum checkpoint_state state,
	const char *text)
{
	struct manifest m = { .version = version, .progress.state = state };
	struct file_writer w;
	char path[160], file[200];

	snprintf(path, sizeof path, "%s/v%06" PRIu64, c->model, version);
	snprintf(file, sizeof file, "%s/table-a.0-of-1.bin", path);
	assert_int_equal(file_make_directories(path), RS_OK);
	assert_int_equal(file_writer_open(&w, file), RS_OK);
	assert_int_equal(file_writer_write(&w, text, strlen(text)), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(manifest_add(&m, "table-a.0-of-1.bin", &w), RS_OK);
	file_writer_close(&w);
	assert_int_equal(manifest_write(&m, path), RS_OK);
	manifest_free(&m);
}

int
publish_case_exists(const struct publish_case *c, const char *path)
{
	char whole[300];
	struct stat st;

	snprintf(whole, sizeof whole, "%s/%s", c->root, path);
	return lstat(whole, &st) == 0;
}

const char *
publish_case_text(const struct publish_case *c, const char *path)
{
	static char out[4096];
	char whole[300], *text;
	size_t n;

	snprintf(whole, sizeof whole, "%s/%s", c->root, path);
	out[0] = '\0';
	if (file_read(whole, sizeof out - 1, &text, &n) == RS_OK) {
		memcpy(out, text, n + 1);
		free(text);
	}
	return out;
}

uint64_t
publish_case_linked(const struct publish_case *c)
{
	char path[128], target[32];

	snprintf(path, sizeof path, "%s/current", c->serve);
	const ssize_t n = readlink(path, target, sizeof target - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	return strtoull(target, NULL, 10);
}

/* --- publishing --------------------------------------------------------------------- */

void
publish_case_final(struct publish_case *c, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof text, "weights of %" PRIu64, n);
	publish_case_version(c, n, CHECKPOINT_FINAL, text);
}

void
publish_case_accept(struct publish_case *c, uint64_t n, int complete)
{
	int incomplete = -1;

	assert_int_equal(publish_accept(c->model, n, &c->s, &incomplete), RS_OK);
	assert_int_equal(incomplete, !complete);
	assert_int_equal(checkpoint_current(c->model), n);
}

void
publish_case_repair(struct publish_case *c, int complete)
{
	int incomplete = -1;

	assert_int_equal(publish_repair(c->model, &c->s, &incomplete), RS_OK);
	assert_int_equal(incomplete, !complete);
}

/* Copy, link and command are those of CURRENT, and nothing is left behind. */
void
publish_case_in_line(struct publish_case *c)
{
	const uint64_t now = checkpoint_current(c->model);
	char path[160], text[32];
	struct manifest m;
	int out = 0;
	FILE *list;

	assert_int_equal(publish_case_linked(c), now);
	snprintf(path, sizeof path, "%s/current", c->serve);
	assert_int_equal(manifest_read(&m, path), RS_OK);
	assert_int_equal(manifest_verify(&m, path), RS_OK);
	assert_int_equal(m.version, now);
	manifest_free(&m);
	snprintf(text, sizeof text, "weights of %" PRIu64, now);
	assert_string_equal(publish_case_text(c, "serve/current/table-a.0-of-1.bin"), text);
	assert_false(publish_case_exists(c, "model/PENDING"));
	snprintf(path, sizeof path, "find %s -name '.tmp*' | wc -l", c->serve);
	list = popen(path, "r");
	assert_non_null(list);
	assert_int_equal(fscanf(list, "%d", &out), 1);
	pclose(list);
	assert_int_equal(out, 0);
}

size_t
publish_case_count(enum rs_status (*list)(const char *, uint64_t **, size_t *),
	const struct publish_case *c)
{
	uint64_t *version_list;
	size_t n;

	assert_int_equal(list(c->model, &version_list, &n), RS_OK);
	free(version_list);
	return n;
}

enum rs_status
publish_case_roll_back(struct publish_case *c, uint64_t n, uint64_t *now)
{
	int incomplete = -1;

	RS_TRY(publish_rollback_target(c->model, n, now));
	RS_TRY(publish_rollback(c->model, *now, &c->s, &incomplete));
	assert_int_equal(incomplete, 0);
	return RS_OK;
}
