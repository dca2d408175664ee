/* A folder, a spec, a ledger and a clock. */
#include "tests/train/intake_case.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "data/content_hash.h"
#include "data/source.h"

int
case_set_up(void **state)
{
	struct intake_case *const c = calloc(1, sizeof *c);

	assert_non_null(c);
	snprintf(c->directory, sizeof c->directory, "/tmp/intake.XXXXXX");
	assert_non_null(mkdtemp(c->directory));
	ledger_init(&c->ledger);
	c->now = CASE_BEGIN;
	c->since = c->until = LEDGER_NO_PERIOD;
	*state = c;
	return 0;
}

static void
free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->item[i]);
	free(l->item);
	*l = (struct lines){ .n = 0 };
}

int
case_tear_down(void **state)
{
	struct intake_case *const c = *state;

	intake_free(c->intake);
	ledger_free(&c->ledger);
	spec_free(c->spec);
	free_lines(&c->trained);
	free_lines(&c->held);
	file_remove_tree(c->directory);
	free(c);
	return 0;
}

void
case_spec(struct intake_case *c, const char *data, const char *incremental)
{
	char text[4096];

	spec_free(c->spec);
	snprintf(text, sizeof text, "[model]\ntype = deepfm\n[data]\ntrain = %s/log*\nlabel = 2\n"
		"%s%s\n[field id]\ncolumn = 3\ntype = categorical\nbuckets = 10\n"
		"[incremental]\nwait = 5m\n%s%s\n", c->directory,
		strstr(data, "header") == NULL ? "header = no\n" : "", data,
		strstr(incremental, "period") == NULL ? "period = 1h\n" : "", incremental);
	if (spec_load_text(text, "case.ini", &c->spec) != RS_OK)
		fail_msg("%s", spec_problem(c->spec, 0)->text);
}

char *
case_path(const struct intake_case *c, const char *name)
{
	static char path[4][256];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", c->directory, name);
	return path[turn];
}

void
case_touch(struct intake_case *c, const char *name, int64_t modified)
{
	const struct timespec times[2] = { { .tv_sec = modified }, { .tv_sec = modified } };

	assert_int_equal(utimensat(AT_FDCWD, case_path(c, name), times, 0), 0);
}

static void
put(struct intake_case *c, const char *name, const char *text, const char *mode)
{
	FILE *const f = fopen(case_path(c, name), mode);

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

void
case_write(struct intake_case *c, const char *name, const char *text, int64_t modified)
{
	put(c, name, text, "w");
	case_touch(c, name, modified);
}

void
case_append(struct intake_case *c, const char *name, const char *text, int64_t modified)
{
	put(c, name, text, "a");
	case_touch(c, name, modified);
}

void
case_rename(struct intake_case *c, const char *from, const char *to)
{
	assert_int_equal(rename(case_path(c, from), case_path(c, to)), 0);
}

void
case_remove(struct intake_case *c, const char *name)
{
	assert_int_equal(unlink(case_path(c, name)), 0);
}

const char *
case_rows(int64_t first_id, size_t n, const int64_t *time)
{
	static char text[1 << 16];
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%jd\t1\t%jd\n",
			(intmax_t)time[i], (intmax_t)(first_id + (int64_t)i));
	return text;
}

const char *
case_minutes(int64_t first_id, size_t n, const int *minute)
{
	int64_t time[100];

	assert_true(n <= 100);
	for (size_t i = 0; i < n; i++)
		time[i] = CASE_BEGIN + 60 * minute[i];
	return case_rows(first_id, n, time);
}

void
case_by_rows(struct intake_case *c, const char *data, const char *incremental)
{
	char all[512];

	snprintf(all, sizeof all, "time = 1\n%s", data);
	case_spec(c, all, incremental);
}

/* --- scans ------------------------------------------------------------------- */

enum rs_status
case_scan(struct intake_case *c)
{
	const struct intake_options options = { .settings = spec_settings(c->spec),
		.ledger = &c->ledger, .now = c->now, .since = c->since, .until = c->until,
		.most = c->most };

	intake_free(c->intake);
	c->intake = NULL;
	return intake_scan(&options, &c->intake);
}

static void
keep_lines(const char *text, size_t n, struct lines *out)
{
	for (size_t at = 0; at < n; ) {
		const char *const end = memchr(text + at, '\n', n - at);
		const size_t stop = end != NULL ? (size_t)(end - text) : n;

		out->item = realloc(out->item, (out->n + 1) * sizeof *out->item);
		assert_non_null(out->item);
		out->item[out->n++] = strndup(text + at, stop - at);
		at = stop + 1;
	}
}

/* As a loader reads it. */
static void
read_name(const char *name, struct lines *out, struct loader_file *file)
{
	struct content_hash hash;
	struct source *source;
	struct buffer text;
	size_t got, before = out->n;

	buffer_init(&text, 64 << 20);
	content_hash_init(&hash);
	if (source_open(name, &source) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	source_expect_lines(source);
	do {
		assert_int_equal(buffer_reserve(&text, 4096), RS_OK);
		if (source_read(source, text.data + text.n, 4096, &got) != RS_OK)
			fail_msg("%s", rs_failure()->text);
		assert_int_equal(content_hash_feed(&hash, text.data + text.n, got), RS_OK);
		text.n += got;
	} while (got > 0);
	source_close(source);
	keep_lines(text.data, text.n, out);
	*file = (struct loader_file){ .path = name, .size = text.n,
		.content_hash = content_hash_value(&hash),
		.tally = { .read = out->n - before } };
	content_hash_free(&hash);
	buffer_free(&text);
}

void
case_read(const char *name, struct lines *out)
{
	struct loader_file file;

	read_name(name, out, &file);
}

static void
accept(struct intake_case *c, struct intake_period *p)
{
	struct loader_file file;

	/* A loader takes all of them at once: no row is in two. */
	char **path;
	size_t n;
	if (p->train.n > 0) {
		if (source_expand(&p->train, &path, &n) != RS_OK)
			fail_msg("%s", rs_failure()->text);
		assert_int_equal(n, p->train.n);
		for (size_t i = 0; i < n; i++)
			free(path[i]);
		free(path);
	}
	assert_int_equal(intake_check(p), RS_OK);
	for (size_t i = 0; i < p->train.n; i++) {
		assert_int_equal(p->entry[i].use, LEDGER_TRAINED);
		read_name(p->train.item[i], &c->trained, &file);
		ledger_count(&p->entry[i], &file);
	}
	for (size_t i = 0; i < p->held.n; i++) {
		const struct ledger_entry *const e = &p->entry[p->train.n + i];

		assert_int_equal(e->use, LEDGER_HELD);
		read_name(p->held.item[i], &c->held, &file);
		assert_int_equal(e->content_hash, file.content_hash);
	}
	for (size_t i = 0; i < p->n; i++) {
		struct ledger_entry copy;

		assert_int_equal(ledger_entry_copy(&p->entry[i], &copy), RS_OK);
		assert_int_equal(ledger_add(&c->ledger, &copy), RS_OK);
	}
	c->ledger.mark = p->end;
}

/* Through its text, as a version keeps it. */
static void
save_ledger(struct intake_case *c)
{
	struct buffer text;
	struct ledger again;

	buffer_init(&text, 64 << 20);
	assert_int_equal(ledger_print(&c->ledger, &text), RS_OK);
	assert_int_equal(ledger_parse(text.data, text.n, "ledger.txt", &again), RS_OK);
	ledger_free(&c->ledger);
	c->ledger = again;
	buffer_free(&text);
}

void
case_accept(struct intake_case *c)
{
	for (size_t d = 0; d < c->intake->n_due; d++)
		accept(c, &c->intake->due[d]);
	save_ledger(c);
}

size_t
case_train(struct intake_case *c)
{
	if (case_scan(c) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
	case_accept(c);
	return c->intake->n_due;
}

int
case_told(const struct intake_case *c, enum ledger_use use, const char *text)
{
	for (size_t i = 0; i < c->intake->n_notices; i++)
		if (c->intake->notice[i].use == use && strstr(c->intake->notice[i].text, text))
			return 1;
	return 0;
}

size_t
case_uses(const struct intake_case *c, enum ledger_use use)
{
	size_t n = 0;

	for (size_t i = 0; i < c->ledger.n; i++)
		n += c->ledger.entry[i].use == use;
	return n;
}

int
case_has(const struct lines *lines, const char *line)
{
	int n = 0;

	for (size_t i = 0; i < lines->n; i++)
		n += strcmp(lines->item[i], line) == 0;
	return n;
}

int
case_trained(const struct intake_case *c, int minute, int id)
{
	char line[64];

	snprintf(line, sizeof line, "%jd\t1\t%d", (intmax_t)CASE_BEGIN + 60 * minute, id);
	return case_has(&c->trained, line);
}
