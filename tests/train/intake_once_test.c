/*
 * Whatever happens to logs between scans, each row is trained once: random appends, rotations,
 * copies, compressions, removals of what is done with, late rows, lines cut in two, and runs
 * that come to nothing.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "tests/train/intake_case.h"

enum { MAX_ROWS = 20000, MAX_FILES = 400 };
#define HEADER "when\tlabel\tid\n"

struct world {
	struct intake_case *c;
	uint64_t seed, draws;
	int      header;
	int64_t  next_id, stamp;
	char     name[MAX_FILES][32];      /* [n] files there are                         */
	size_t   n;
	int      n_names;
	int      half;                     /* the log ends within a row                   */
};

#define SAY(...) (getenv("INTAKE_TRACE") != NULL ? fprintf(stderr, __VA_ARGS__) : 0)

static uint64_t
draw(struct world *w, uint64_t n)
{
	return hash_mix(w->seed * 1000003 + w->draws++) % n;
}

/* Half of the times have fractions, as those of real files do. */
static void
touch(struct world *w, const char *name)
{
	const struct timespec t = { .tv_sec = w->c->now,
		.tv_nsec = draw(w, 2) ? ++w->stamp % 1000000000 : 0 };

	assert_int_equal(utimensat(AT_FDCWD, case_path(w->c, name),
		(struct timespec[]){ t, t }, 0), 0);
}

static size_t
find(const struct world *w, const char *name)
{
	size_t i = 0;

	while (i < w->n && strcmp(w->name[i], name) != 0)
		i++;
	return i;
}

static void
add_file(struct world *w, const char *name)
{
	assert_true(w->n < MAX_FILES);
	if (find(w, name) == w->n)
		snprintf(w->name[w->n++], sizeof w->name[0], "%s", name);
}

static void
drop_file(struct world *w, size_t i)
{
	memmove(w->name[i], w->name[w->n - 1], sizeof w->name[0]);
	w->n--;
}

/* --- what happens ------------------------------------------------------------ */

static void
append(struct world *w, const char *name, const char *text)
{
	const int is_new = access(case_path(w->c, name), F_OK) != 0;

	if (is_new && w->header)
		case_append(w->c, name, HEADER, w->c->now);
	case_append(w->c, name, text, w->c->now);
	touch(w, name);
	add_file(w, name);
}

/* Rows about now, some of an hour or of hours ago; the last perhaps in two pieces. */
static void
write_rows(struct world *w)
{
	static char text[4096];
	size_t at = 0;

	for (uint64_t n = 1 + draw(w, 6); n > 0; n--) {
		int64_t t = w->c->now - (int64_t)draw(w, 600);

		if (draw(w, 10) == 0)
			t -= (int64_t)draw(w, 20000);
		/* The first row tells a new log from one that was written again. */
		if (at == 0)
			t = w->c->now;
		at += (size_t)snprintf(text + at, sizeof text - at, "%jd\t1\t%jd\n", (intmax_t)t,
			(intmax_t)w->next_id++);
	}
	if (draw(w, 4) == 0) {
		const size_t cut = at - 1 - draw(w, 12);
		char rest[32];

		snprintf(rest, sizeof rest, "%s", text + cut);
		text[cut] = '\0';
		append(w, "log-a", text);
		w->half = 1;
		snprintf(text, sizeof text, "%s", rest);
		if (draw(w, 2) == 0)           /* or after a scan                         */
			(void)case_scan(w->c);
	}
	SAY("rows to %jd\n", (intmax_t)w->next_id - 1);
	append(w, "log-a", text);
	w->half = 0;
}

static void
write_gzip(struct world *w, const char *from, const char *to)
{
	char *text;
	size_t n;
	gzFile f;

	assert_int_equal(file_read(case_path(w->c, from), 1 << 24, &text, &n), RS_OK);
	f = gzopen(case_path(w->c, to), "w");
	assert_non_null(f);
	assert_int_equal(gzwrite(f, text, (unsigned)n), n);
	assert_int_equal(gzclose(f), Z_OK);
	free(text);
	touch(w, to);
	add_file(w, to);
}

static void
copy(struct world *w, const char *from, const char *to)
{
	char *text;
	size_t n;

	assert_int_equal(file_read(case_path(w->c, from), 1 << 24, &text, &n), RS_OK);
	case_write(w->c, to, text, w->c->now);
	free(text);
	SAY("copy %s %s\n", from, to);
	touch(w, to);
	add_file(w, to);
}

static const char *
new_name(struct world *w, const char *format)
{
	static char name[32];
	char number[24];

	snprintf(number, sizeof number, "%03d", ++w->n_names);
	snprintf(name, sizeof name, "log-%s-%s", format, number);
	return name;
}

static void
rotate(struct world *w)
{
	if (find(w, "log-a") == w->n)
		return;
	if (draw(w, 2) == 0) {
		const char *const to = new_name(w, draw(w, 2) ? "Z" : "z");

		SAY("rename %s\n", to);
		case_rename(w->c, "log-a", to);
		drop_file(w, find(w, "log-a"));
		add_file(w, to);
		return;
	}
	SAY("truncate\n");
	copy(w, "log-a", new_name(w, draw(w, 2) ? "T" : "t"));
	case_write(w->c, "log-a", w->header ? HEADER : "", w->c->now);
	touch(w, "log-a");
}

static int
is_plain(const char *name)
{
	return strstr(name, ".gz") == NULL;
}

static void
compress_one(struct world *w)
{
	const size_t i = w->n > 0 ? draw(w, w->n) : 0;
	char from[32], to[40];

	if (w->n == 0 || !is_plain(w->name[i]) || strcmp(w->name[i], "log-a") == 0)
		return;
	snprintf(from, sizeof from, "%s", w->name[i]);
	snprintf(to, sizeof to, "%s.gz", from);
	SAY("gzip %s\n", from);
	write_gzip(w, from, to);
	if (draw(w, 2) == 0)                   /* both are there for a scan               */
		(void)case_scan(w->c);
	case_remove(w->c, from);
	drop_file(w, find(w, from));
}

static void
copy_one(struct world *w)
{
	if (w->n == 0)
		return;
	const size_t i = draw(w, w->n);
	if (is_plain(w->name[i]))
		copy(w, w->name[i], new_name(w, draw(w, 2) ? "C" : "c"));
}

/* A file of which all is trained may go. */
static void
remove_one(struct world *w)
{
	struct lines lines = { .n = 0 };
	const size_t i = w->n > 0 ? draw(w, w->n) : 0;
	int done = 1;

	if (w->n == 0 || strcmp(w->name[i], "log-a") == 0)
		return;
	case_read(case_path(w->c, w->name[i]), &lines);
	for (size_t k = 0; k < lines.n; k++) {
		done = done && (strstr(lines.item[k], "when") != NULL ||
			case_has(&w->c->trained, lines.item[k]) +
			case_has(&w->c->held, lines.item[k]) > 0);
		free(lines.item[k]);
	}
	free(lines.item);
	if (!done)
		return;
	SAY("remove %s\n", w->name[i]);
	case_remove(w->c, w->name[i]);
	drop_file(w, i);
}

static void
say_scan(const struct world *w)
{
	const struct intake *const in = w->c->intake;

	SAY("scan at %jd\n", (intmax_t)w->c->now);
	for (size_t d = 0; d < in->n_due; d++)
		for (size_t i = 0; i < in->due[d].n; i++) {
			const struct ledger_entry *const e = &in->due[d].entry[i];

			SAY("  %jd %s %s file %ju ranges %zu:", (intmax_t)in->due[d].begin,
				ledger_use_name(e->use), strrchr(e->path, '/'), (uintmax_t)e->file,
				e->ranges.n);
			for (size_t k = 0; k < e->ranges.n; k++)
				SAY(" %ju-%ju", (uintmax_t)e->ranges.item[k].begin,
					(uintmax_t)e->ranges.item[k].end);
			SAY("\n");
		}
	for (size_t i = 0; i < in->n_notices; i++)
		SAY("  %s\n", in->notice[i].text);
}

static void
scan(struct world *w)
{
	w->c->most = draw(w, 3);
	if (w->n == 0)
		return;
	if (case_scan(w->c) != RS_OK)
		fail_msg("seed %ju: %s %s", (uintmax_t)w->seed, rs_failure()->where,
			rs_failure()->text);
	if (draw(w, 5) != 0) {                 /* or the run comes to nothing             */
		say_scan(w);
		case_accept(w->c);
	}
}

static void
happen(struct world *w)
{
	w->c->now += (int64_t)draw(w, 900);
	switch (draw(w, 12)) {
	case 0:
		rotate(w);
		return;
	case 1:
		compress_one(w);
		return;
	case 2:
		copy_one(w);
		return;
	case 3:
		remove_one(w);
		return;
	case 4: case 5: case 6:
		scan(w);
		return;
	default:
		write_rows(w);
	}
}

/* --- what must hold ---------------------------------------------------------- */

static void
count(const struct world *w, const struct lines *lines, unsigned char *seen)
{
	for (size_t i = 0; i < lines->n; i++) {
		const char *const id = strrchr(lines->item[i], '\t');

		if (strstr(lines->item[i], "when") != NULL)
			continue;
		assert_non_null(id);
		const int64_t n = strtoll(id, NULL, 10);
		if (n < 0 || n >= w->next_id)
			fail_msg("seed %ju: '%s' is no row", (uintmax_t)w->seed, lines->item[i]);
		seen[n]++;
	}
}

static void
finish(struct world *w)
{
	static unsigned char seen[MAX_ROWS];

	memset(seen, 0, sizeof seen);
	w->c->most = 0;
	for (int i = 0; i < 6; i++) {
		w->c->now += 4 * 3600;
		write_rows(w);
		w->c->now += 8 * 3600;
		(void)case_train(w->c);
		say_scan(w);
	}
	assert_int_equal(case_train(w->c), 0);
	assert_int_equal(w->c->intake->n_notices, 0);
	assert_true(w->next_id < MAX_ROWS);
	count(w, &w->c->trained, seen);
	count(w, &w->c->held, seen);
	for (int64_t i = 0; i < w->next_id; i++)
		if (seen[i] != 1)
			fail_msg("seed %ju: row %jd is trained %d times", (uintmax_t)w->seed,
				(intmax_t)i, seen[i]);
}

static void
live(uint64_t seed)
{
	struct world *const w = calloc(1, sizeof *w);
	void *state;

	assert_non_null(w);
	assert_int_equal(case_set_up(&state), 0);
	w->c = state;
	w->seed = seed;
	w->header = draw(w, 2) == 0;
	case_spec(w->c, w->header ? "time = when\nheader = yes" : "time = 1",
		draw(w, 3) == 0 ? "holdout = 0.2" : "");
	for (int i = 0; i < 150; i++)
		happen(w);
	finish(w);
	assert_int_equal(case_tear_down(&state), 0);
	free(w);
}

static void
each_row_is_trained_once(void **state)
{
	const char *const n = getenv("INTAKE_WORLDS");
	const uint64_t worlds = n != NULL ? strtoull(n, NULL, 10) : 25;

	(void)state;
	for (uint64_t seed = 1; seed <= worlds; seed++)
		live(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_row_is_trained_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
