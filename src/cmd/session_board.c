/* The curves of a session for TensorBoard. */
#include "cmd/session_board.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "export/tensorboard.h"

#define BOARD_BATCHES 10           /* from point to point                             */

/* The first failure is told, and ends the curves. */
static void
note(struct session *s, enum rs_status status)
{
	if (status == RS_OK)
		return;
	struct tensorboard *const board = s->board;

	s->board = NULL;
	log_warn("no more curves for TensorBoard: %s", rs_failure()->text);
	tensorboard_close(board);
}

void
session_board_rhythm(const struct session *s, const struct settings *settings,
	struct train_options *options)
{
	if (settings->runs.tensorboard[0] == '\0' || progress_has_rows(&s->progress))
		return;
	options->progress_step = BOARD_BATCHES * (double)settings->train.batch_size;
	options->progress_multiplies = 0;
}

/* --- the directory --------------------------------------------------------------------- */

/* "ctr" of "model/ctr/". */
static enum rs_status
model_name(const char *directory, char **out)
{
	size_t end = strlen(directory), begin;

	while (end > 1 && directory[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && directory[begin - 1] != '/'; begin--)
		continue;
	RS_TRY(memory_strdup(begin < end ? directory + begin : "model", out));
	if (begin < end)
		(*out)[end - begin] = '\0';
	return RS_OK;
}

/* The newest run before this one with curves there; 0: none. */
static int64_t
former_run(const char *parent, const char *name, int64_t run)
{
	const size_t n = strlen(name);
	DIR *const d = opendir(parent);
	const struct dirent *entry;
	int64_t newest = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		int64_t other;
		int end = 0;

		if (strncmp(entry->d_name, name, n) == 0
		    && sscanf(entry->d_name + n, "-r%" SCNd64 "%n", &other, &end) == 1
		    && entry->d_name[n + (size_t)end] == '\0' && other < run && other > newest)
			newest = other;
	}
	if (d != NULL)
		closedir(d);
	return newest;
}

static enum rs_status
find_directory(const struct session *s, const char *parent, char **out)
{
	int64_t run = record_run(s->record);
	char *name;
	int n;

	RS_TRY(model_name(s->directory, &name));
	const int64_t former = argument_given(s->a, "--resume") ? former_run(parent, name, run) : 0;
	if (former > 0)
		run = former;
	if (s->period[0] != '\0')
		n = asprintf(out, "%s/%s", parent, name);
	else
		n = asprintf(out, "%s/%s-r%04" PRId64, parent, name, run);
	free(name);
	if (n >= 0)
		return RS_OK;
	*out = NULL;
	return rs_fail(RS_ERESOURCE, "out of memory");
}

/* Points at the step that the run begins with are of what it goes on from. */
static enum rs_status
open_board(struct session *s, const char *parent, int64_t step)
{
	char *directory;

	RS_TRY(find_directory(s, parent, &directory));
	const enum rs_status status = tensorboard_open(directory, step + 1, &s->board);
	free(directory);
	return status;
}

void
session_board_begin(struct session *s, const struct model *m)
{
	const char *const parent = spec_settings(m->spec)->runs.tensorboard;

	session_board_end(s);
	if (s->record == NULL || parent[0] == '\0')
		return;
	s->board_step = (int64_t)m->step;
	note(s, open_board(s, parent, s->board_step));
}

void
session_board_end(struct session *s)
{
	tensorboard_close(s->board);
	s->board = NULL;
}

/* --- points ---------------------------------------------------------------------------- */

struct point { const char *tag; double value; };

/* What is not defined is no point. */
static enum rs_status
put(struct session *s, const struct point *point, size_t n, int64_t step)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(point[i].value))
			RS_TRY(tensorboard_scalar(s->board, point[i].tag, step, point[i].value));
	return tensorboard_flush(s->board);
}

void
session_board_progress(struct session *s, const struct train_progress *p)
{
	const struct point point[] = {
		{ "loss", p->loss }, { "loss_since_last", p->loss_since_last },
		{ "learning_rate", p->learning_rate }, { "rows_per_second", p->rows_per_s },
	};

	if (s->board != NULL)
		note(s, put(s, point, sizeof point / sizeof *point, (int64_t)p->step));
}

static enum rs_status
put_result(struct session *s, const char *part, const struct metric_result *m, int64_t step)
{
	const struct point point[] = {
		{ "auc", m->auc }, { "logloss", m->logloss }, { "mse", m->mse },
		{ "calibration", m->calibration },
	};
	char tag[FIGURE_NAME + 24];

	for (size_t i = 0; i < sizeof point / sizeof *point; i++) {
		snprintf(tag, sizeof tag, "%s.%s", part, point[i].tag);
		RS_TRY(put(s, &(struct point){ tag, point[i].value }, 1, step));
	}
	for (size_t i = 0; i < m->figures.n; i++) {
		snprintf(tag, sizeof tag, "%s.%s", part, m->figures.item[i].name);
		if (figure_needs_groups(&m->figures.item[i]))
			RS_TRY(put(s, &(struct point){ tag, m->value[i] }, 1, step));
	}
	return RS_OK;
}

void
session_board_epoch(struct session *s, const struct train_epoch *e)
{
	if (s->board == NULL)
		return;
	const struct point point[] = {
		{ "epoch.loss", e->loss }, { "epoch.seconds", e->seconds },
		{ "epoch.number", (double)e->epoch },
	};
	enum rs_status status = put(s, point, sizeof point / sizeof *point, (int64_t)e->step);
	if (status == RS_OK && e->has_valid)
		status = put_result(s, "valid", &e->valid, (int64_t)e->step);
	note(s, status);
}

void
session_board_scored(struct session *s, const struct metric_result *m)
{
	if (s->board != NULL && m->rows > 0)
		note(s, put_result(s, "progressive", m, s->board_step));
}
