/* What a run database tells of versions: when they were made, and tags. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/gc.h"
#include "store/store.h"

#define BUSY_MS 10000

struct asking {
	struct gc *g;
	struct store *store;
	const char *model;             /* the last part of the directory              */
	size_t n_model;
	const char *const *tag;
	size_t n_tags;
	unsigned char *timed;          /* [g->n] a newer run made it                  */
};

/* Does the path end in "MODEL/v000012"?  A run may have named the directory otherwise than
 * we do, from elsewhere. */
static int
is_path_of(const struct asking *a, const char *path, uint64_t version)
{
	char name[32];
	const size_t n = strlen(path);

	snprintf(name, sizeof name, "/v%06" PRIu64, version);
	const size_t n_name = strlen(name);
	if (n < n_name || strcmp(path + n - n_name, name) != 0)
		return 0;
	size_t end = n - n_name;
	while (end > 0 && path[end - 1] == '/')
		end--;
	if (end < a->n_model || strncmp(path + end - a->n_model, a->model, a->n_model) != 0)
		return 0;
	return end == a->n_model || path[end - a->n_model - 1] == '/';
}

static int
tag_counts(const struct asking *a, const char *tag)
{
	if (tag[0] == '\0')
		return 0;
	for (size_t i = 0; i < a->n_tags; i++)
		if (strcmp(a->tag[i], tag) == 0)
			return 1;
	return a->n_tags == 0;
}

/* When the run ended, as far as that is known. */
static int
run_time(const struct store_run *run, int64_t *out)
{
	struct tm utc = { .tm_isdst = 0 };

	if (strptime(run->started, "%Y-%m-%dT%H:%M:%SZ", &utc) == NULL || !isfinite(run->seconds))
		return 0;
	*out = (int64_t)timegm(&utc) + (int64_t)run->seconds;
	return 1;
}

static void
note_version(struct asking *a, size_t i, const struct store_run *run)
{
	struct gc_item *const item = &a->g->item[i];
	char why[100];

	if (!a->timed[i])
		run_time(run, &item->time);
	if (!a->timed[i] && tag_counts(a, run->tag)) {
		snprintf(why, sizeof why, "tag %.80s", run->tag);
		item->fate = GC_KEEP;
		item->bound = 1;
		gc_reason(item, why);
	}
	a->timed[i] = 1;
}

static enum rs_status
note_run(struct asking *a, const struct store_run *run)
{
	struct store_table table;

	RS_TRY(store_part(a->store, run->run, STORE_ARTIFACTS, &table));
	for (size_t r = 0; r < table.n_rows; r++) {
		const char *const path = table.cell[r * table.n_columns + 1];

		for (size_t i = 0; path != NULL && i < a->g->n; i++)
			if (a->g->item[i].kind <= GC_REJECTED
			    && is_path_of(a, path, a->g->item[i].version))
				note_version(a, i, run);
	}
	store_table_free(&table);
	return RS_OK;
}

static enum rs_status
note_runs(struct asking *a)
{
	const struct store_filter all = { .last = 0 };
	struct store_run *run;
	size_t n;

	RS_TRY(store_runs(a->store, &all, &run, &n));
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < n; i++)
		status = note_run(a, &run[i]);
	store_runs_free(run, n);
	return status;
}

enum rs_status
gc_ask_runs(struct gc *g, const char *database, const char *const *tag, size_t n_tags)
{
	struct asking a = { .g = g, .tag = tag, .n_tags = n_tags };

	if (access(database, F_OK) != 0) {
		log_info("there is no run database '%s': no tags, and times of files", database);
		return RS_OK;
	}
	char *const real = realpath(g->directory, NULL);
	a.timed = calloc(g->n + 1, 1);
	enum rs_status status = a.timed == NULL || real == NULL
		? rs_fail(RS_ERESOURCE, "out of memory: a name is wanted") : RS_OK;
	if (status == RS_OK) {
		a.model = strrchr(real, '/') + 1;
		a.n_model = strlen(a.model);
		status = store_open(database, 1, BUSY_MS, &a.store);
	}
	if (status == RS_OK) {
		status = note_runs(&a);
		store_close(a.store);
	}
	free(a.timed);
	free(real);
	return status;
}
