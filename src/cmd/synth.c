/* synth: writes click logs of any size with a known truth, and says how well the
 * true probabilities predict them. */
#include "cmd/synth.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/thread.h"
#include "cmd/command.h"

#define SYNTH_BLOCK    2048                 /* rows written at once                   */
#define SYNTH_BINS     ((size_t)1 << 18)    /* of the logit, for the AUC              */
#define SYNTH_TOP      20                   /* ranks that hr and ndcg look at         */
#define SYNTH_LOGIT    16.0                 /* bins cover [-16,16)                    */

static const struct synth_layout *const synth_layouts[] = {
	&synth_layout_log, &synth_layout_sequence, &synth_layout_retrieval, &synth_layout_criteo,
};
#define SYNTH_LAYOUTS "log|sequence|retrieval|criteo"
#define N_LAYOUTS (sizeof synth_layouts / sizeof *synth_layouts)

struct synth_score {
	uint64_t *count[2];                 /* [SYNTH_BINS] rows by label and logit   */
	uint64_t  rows, scored, positives, bytes;
	uint64_t  ranked, hit[SYNTH_TOP];   /* rows by the rank of their item         */
	double    loss;
};

struct synth_block {
	uint64_t number;
	char    *text;                      /* [SYNTH_BLOCK*SYNTH_ROW_MAX]            */
	size_t   n;
	double   loss;
	int      done;
};

struct synth_job {
	const struct synth_world *world;
	uint64_t start, rows, n_blocks;
	struct synth_block *block;          /* [n_slots] ring                         */
	size_t   n_slots;
	pthread_mutex_t lock;
	pthread_cond_t  changed;
	uint64_t given, written;
	int      stop;
	struct synth_score *score;          /* [n_threads]                            */
	size_t   n_scores;
};

struct synth_worker {
	struct synth_job *job;
	struct synth_score *score;
	pthread_t thread;
};

struct synth_output {
	const char *path;                   /* NULL: stdout                           */
	struct file_writer file;
	int         opened;
};

/* ---- how well the truth does ------------------------------------------ */

static enum rs_status
score_open(struct synth_score *s)
{
	RS_TRY(memory_alloc(SYNTH_BINS, sizeof *s->count[0], &s->count[0]));
	return memory_alloc(SYNTH_BINS, sizeof *s->count[1], &s->count[1]);
}

static void
score_close(struct synth_score *s)
{
	free(s->count[0]);
	free(s->count[1]);
}

/* -log of the probability of the label that came. */
static double
score_loss(double logit, int label)
{
	const double z = label ? -logit : logit;

	return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static void
score_row(struct synth_score *s, const struct synth_row *row)
{
	double x = (row->logit + SYNTH_LOGIT) * (double)SYNTH_BINS / (2 * SYNTH_LOGIT);

	s->positives += (uint64_t)row->label;
	s->ranked += (uint64_t)row->is_ranked;
	if (row->is_ranked && row->rank < SYNTH_TOP)
		s->hit[row->rank]++;
	if (isnan(row->logit))
		return;
	s->scored++;
	x = x < 0 ? 0 : x > (double)(SYNTH_BINS - 1) ? (double)(SYNTH_BINS - 1) : x;
	s->count[row->label][(size_t)x]++;
}

static void
score_merge(struct synth_score *into, const struct synth_score *from)
{
	for (size_t i = 0; i < SYNTH_BINS; i++) {
		into->count[0][i] += from->count[0][i];
		into->count[1][i] += from->count[1][i];
	}
	into->positives += from->positives;
	into->scored += from->scored;
	into->ranked += from->ranked;
	for (size_t i = 0; i < SYNTH_TOP; i++)
		into->hit[i] += from->hit[i];
}

/* Rows of one bin count as ties: the error is below half the largest bin's share. */
static double
score_auc(const struct synth_score *s)
{
	const double n1 = (double)s->positives, n0 = (double)(s->rows - s->positives);
	double below = 0, wins = 0;

	for (size_t i = 0; i < SYNTH_BINS; i++) {
		wins += (double)s->count[1][i] * (below + 0.5 * (double)s->count[0][i]);
		below += (double)s->count[0][i];
	}
	return n0 > 0 && n1 > 0 ? wins / (n0 * n1) : NAN;
}

static double
score_best_constant_loss(const struct synth_score *s)
{
	const double p = (double)s->positives / (double)s->rows;

	return p > 0 && p < 1 ? -p * log(p) - (1 - p) * log1p(-p) : 0;
}

static double
score_hits(const struct synth_score *s)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < SYNTH_TOP; i++)
		hits += s->hit[i];
	return (double)hits / (double)s->ranked;
}

/* One item is wanted in a row, so the best gain is 1. */
static double
score_ndcg(const struct synth_score *s)
{
	double gain = 0;

	for (size_t i = 0; i < SYNTH_TOP; i++)
		gain += (double)s->hit[i] / log2((double)i + 2);
	return gain / (double)s->ranked;
}

/* ---- threads ----------------------------------------------------------- */

static void
block_fill(const struct synth_job *job, struct synth_score *score, struct synth_block *block)
{
	const uint64_t first = block->number * SYNTH_BLOCK;
	const uint64_t left = job->rows - first;
	struct synth_row row = { .is_ranked = 0 };

	block->n = 0;
	block->loss = 0;
	for (uint64_t i = 0; i < SYNTH_BLOCK && i < left; i++) {
		row.text = block->text + block->n;
		job->world->layout->row(job->world, job->start + first + i, &row);
		block->n += row.n;
		block->loss += isnan(row.logit) ? 0 : score_loss(row.logit, row.label);
		score_row(score, &row);
	}
}

static struct synth_block *
job_take(struct synth_job *job)
{
	struct synth_block *block = NULL;

	(void)pthread_mutex_lock(&job->lock);
	while (!job->stop && job->given < job->n_blocks &&
		job->given - job->written >= job->n_slots)
		(void)pthread_cond_wait(&job->changed, &job->lock);
	if (!job->stop && job->given < job->n_blocks) {
		block = &job->block[job->given % job->n_slots];
		block->number = job->given++;
		block->done = 0;
	}
	(void)pthread_mutex_unlock(&job->lock);
	return block;
}

static void *
worker_run(void *argument)
{
	struct synth_worker *worker = argument;
	struct synth_block *block;

	while ((block = job_take(worker->job)) != NULL) {
		block_fill(worker->job, worker->score, block);
		(void)pthread_mutex_lock(&worker->job->lock);
		block->done = 1;
		(void)pthread_cond_broadcast(&worker->job->changed);
		(void)pthread_mutex_unlock(&worker->job->lock);
	}
	return NULL;
}

static enum rs_status
output_write(struct synth_output *o, const void *bytes, size_t n)
{
	return o->path != NULL ? file_writer_write(&o->file, bytes, n) : output_text(bytes, n);
}

/* Writes the blocks in order; sums are added in that order, too. */
static enum rs_status
job_write(struct synth_job *job, struct synth_output *o, struct synth_score *total)
{
	enum rs_status status = RS_OK;

	for (uint64_t i = 0; i < job->n_blocks && status == RS_OK; i++) {
		struct synth_block *block = &job->block[i % job->n_slots];

		(void)pthread_mutex_lock(&job->lock);
		while (job->given <= i || !block->done)
			(void)pthread_cond_wait(&job->changed, &job->lock);
		(void)pthread_mutex_unlock(&job->lock);
		status = output_write(o, block->text, block->n);
		total->loss += block->loss;
		total->bytes += block->n;
		(void)pthread_mutex_lock(&job->lock);
		job->written++;
		job->stop = status != RS_OK;
		(void)pthread_cond_broadcast(&job->changed);
		(void)pthread_mutex_unlock(&job->lock);
	}
	return status;
}

static void
job_init(struct synth_job *job, const struct synth_world *world)
{
	*job = (struct synth_job){ .world = world };
	(void)pthread_mutex_init(&job->lock, NULL);
	(void)pthread_cond_init(&job->changed, NULL);
}

static enum rs_status
job_open(struct synth_job *job, size_t n_threads)
{
	job->n_blocks = (job->rows + SYNTH_BLOCK - 1) / SYNTH_BLOCK;
	RS_TRY(memory_alloc(2 * n_threads + 1, sizeof *job->block, &job->block));
	for (; job->n_slots < 2 * n_threads + 1; job->n_slots++)
		RS_TRY(memory_alloc(SYNTH_BLOCK, SYNTH_ROW_MAX, &job->block[job->n_slots].text));
	RS_TRY(memory_alloc(n_threads, sizeof *job->score, &job->score));
	for (; job->n_scores < n_threads; job->n_scores++)
		RS_TRY(score_open(&job->score[job->n_scores]));
	return RS_OK;
}

static void
job_close(struct synth_job *job)
{
	for (size_t i = 0; i < job->n_slots; i++)
		free(job->block[i].text);
	for (size_t i = 0; i < job->n_scores; i++)
		score_close(&job->score[i]);
	free(job->block);
	free(job->score);
	(void)pthread_cond_destroy(&job->changed);
	(void)pthread_mutex_destroy(&job->lock);
}

static enum rs_status
job_run(struct synth_job *job, struct synth_output *o, size_t n_threads, struct synth_score *total)
{
	struct synth_worker *worker;
	enum rs_status status = RS_OK;
	size_t n = 0;

	RS_TRY(memory_alloc(n_threads, sizeof *worker, &worker));
	for (; n < n_threads && status == RS_OK; n++) {
		worker[n] = (struct synth_worker){ .job = job, .score = &job->score[n] };
		status = thread_start(&worker[n].thread, "rs-synth", worker_run, &worker[n]);
	}
	if (status == RS_OK) {
		status = job_write(job, o, total);
	} else {
		n--;
		(void)pthread_mutex_lock(&job->lock);
		job->stop = 1;
		(void)pthread_cond_broadcast(&job->changed);
		(void)pthread_mutex_unlock(&job->lock);
	}
	for (size_t i = 0; i < n; i++) {
		thread_join(worker[i].thread);
		score_merge(total, worker[i].score);
	}
	free(worker);
	return status;
}

/* ---- the command ------------------------------------------------------- */

static enum rs_status
synth_find_layout(const char *name, const struct synth_layout **out)
{
	for (size_t i = 0; i < N_LAYOUTS; i++)
		if (strcmp(name, synth_layouts[i]->name) == 0) {
			*out = synth_layouts[i];
			return RS_OK;
		}
	return rs_fail(RS_EUSAGE, "--layout '%s': wanted one of " SYNTH_LAYOUTS, name);
}

static enum rs_status
synth_world_read(const struct arguments *a, struct synth_world *w)
{
	const char *layout = argument(a, "--layout"), *format = argument(a, "--format");
	int64_t seed = 1, users = 1000, items = 300, hour_rows = 10000;

	RS_TRY(synth_find_layout(layout != NULL ? layout : "log", &w->layout));
	if (format != NULL && strcmp(format, "tsv") != 0 && strcmp(format, "csv") != 0)
		return rs_fail(RS_EUSAGE, "--format '%s': wanted 'tsv' or 'csv'", format);
	if (format != NULL && strcmp(format, "csv") == 0 && w->layout == &synth_layout_criteo)
		return rs_fail(RS_EUSAGE, "--layout criteo has one format, tsv");
	RS_TRY(argument_int(a, "--seed", 0, INT64_MAX, &seed));
	RS_TRY(argument_int(a, "--users", 1, (int64_t)1 << 40, &users));
	RS_TRY(argument_int(a, "--items", 2, (int64_t)1 << 26, &items));
	RS_TRY(argument_int(a, "--hour-rows", 1, (int64_t)1 << 40, &hour_rows));
	RS_TRY(argument_double(a, "--drift", 0, 100, &w->drift));
	if (w->drift > 0 && w->layout != &synth_layout_log)
		return rs_fail(RS_EUSAGE, "--drift is of the layout 'log'");
	w->separator = format != NULL && strcmp(format, "csv") == 0 ? ',' : '\t';
	w->seed = (uint64_t)seed;
	w->users = (uint64_t)users;
	w->items = (uint64_t)items;
	w->hour_rows = (uint64_t)hour_rows;
	w->key = rng_key(rng_key(w->seed, RNG_SYNTH), 0);
	return w->layout->open(w);
}

static void
synth_world_close(struct synth_world *w)
{
	for (size_t i = 0; w->zipf != NULL && i < w->n_zipf; i++)
		free(w->zipf[i].knot);
	free(w->zipf);
	free(w->item);
}

static enum rs_status
synth_range(const struct arguments *a, const struct synth_world *w, struct synth_job *job)
{
	const int64_t most = (int64_t)1 << 40;
	int64_t start = 0, rows = 100000, hours = 0;

	RS_TRY(argument_int(a, "--start", 0, most, &start));
	RS_TRY(argument_int(a, "--rows", 1, most, &rows));
	RS_TRY(argument_int(a, "--hours", 1, most / (int64_t)w->hour_rows, &hours));
	if (hours > 0 && argument_given(a, "--rows"))
		return rs_fail(RS_EUSAGE,
			"--hours and --rows both say how much to write; give one");
	job->start = (uint64_t)start;
	job->rows = hours > 0 ? (uint64_t)hours * w->hour_rows : (uint64_t)rows;
	return RS_OK;
}

static enum rs_status
synth_refuse_existing(const struct arguments *a, const char *path)
{
	struct stat st;

	if (path == NULL || stat(path, &st) != 0)
		return RS_OK;
	if (!S_ISREG(st.st_mode)) {
		(void)rs_fail(RS_ECREATE, "'%s' is not a regular file", path);
		return rs_hint("write to standard output and redirect it");
	}
	if (argument_given(a, "--force"))
		return RS_OK;
	(void)rs_fail(RS_ECREATE, "'%s' exists", path);
	return rs_hint("give --force to replace it");
}

/* How the spec names the rows: a path in a spec is relative to the spec. */
static enum rs_status
synth_spec_path(const char *spec, const char *file, char **out)
{
	const char *spec_slash = strrchr(spec, '/'), *slash = strrchr(file, '/');
	const size_t n_spec = spec_slash == NULL ? 0 : (size_t)(spec_slash - spec) + 1;
	const size_t n = slash == NULL ? 0 : (size_t)(slash - file) + 1;

	if (n == n_spec && memcmp(spec, file, n) == 0)
		return memory_strdup(file + n, out);
	*out = realpath(file, NULL);
	return *out != NULL ? RS_OK : rs_fail(RS_EIO, "cannot find '%s' again", file);
}

static enum rs_status
synth_write_spec(const struct arguments *a, const struct synth_world *w, const char *file)
{
	const char *path = argument(a, "--spec-out");
	struct buffer text;
	enum rs_status status;
	char *name = NULL;

	if (path == NULL)
		return RS_OK;
	buffer_init(&text, (size_t)1 << 20);
	status = file != NULL ? synth_spec_path(path, file, &name) : memory_strdup("-", &name);
	if (status == RS_OK)
		status = w->layout->spec(w, name, &text);
	if (status == RS_OK)
		status = file_replace(path, text.data, text.n);
	buffer_free(&text);
	free(name);
	return status;
}

static void
synth_tell(const struct synth_score *s)
{
	(void)dprintf(STDERR_FILENO, "recsys-train: %ju rows, %ju positive, %ju bytes\n",
		(uintmax_t)s->rows, (uintmax_t)s->positives, (uintmax_t)s->bytes);
	if (s->scored > 0)
		(void)dprintf(STDERR_FILENO,
			"recsys-train: the true probabilities reach auc %.6f, logloss %.6f "
			"(best constant %.6f)\n",
			score_auc(s), s->loss / (double)s->scored, score_best_constant_loss(s));
	if (s->ranked > 0)
		(void)dprintf(STDERR_FILENO,
			"recsys-train: the true probabilities of all items reach hr@%d %.6f, "
			"ndcg@%d %.6f a row\n",
			SYNTH_TOP, score_hits(s), SYNTH_TOP, score_ndcg(s));
}

static enum rs_status
synth_report(const struct arguments *a, const struct synth_output *o, const struct synth_score *s)
{
	struct json j;
	enum rs_status status;

	if (!command_json(a) || o->path == NULL) {
		if (log_level() >= LOG_WARN)
			synth_tell(s);
		return RS_OK;
	}
	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "summary");
	json_string(&j, "file", o->path);
	json_int(&j, "rows", (int64_t)s->rows);
	json_int(&j, "positives", (int64_t)s->positives);
	json_int(&j, "bytes", (int64_t)s->bytes);
	if (s->scored > 0) {
		json_double(&j, "auc", score_auc(s));
		json_double(&j, "logloss", s->loss / (double)s->scored);
		json_double(&j, "best_constant_logloss", score_best_constant_loss(s));
	}
	if (s->ranked > 0) {
		json_double(&j, "hr@20", score_hits(s));
		json_double(&j, "ndcg@20", score_ndcg(s));
	}
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

/* Bytes written. */
static size_t
make_header(const struct synth_world *w, char out[SYNTH_ROW_MAX])
{
	if (w->layout->columns == NULL)
		return 0;
	const size_t n = strlen(w->layout->columns);
	for (size_t i = 0; i < n; i++)
		out[i] = w->layout->columns[i] == ' ' ? w->separator : w->layout->columns[i];
	out[n] = '\n';
	return n + 1;
}

static enum rs_status
synth_write(const struct arguments *a, struct synth_job *job, struct synth_output *o,
	struct synth_score *total)
{
	char header[SYNTH_ROW_MAX];
	const size_t n_header = argument_given(a, "--no-header") ? 0
		: make_header(job->world, header);
	int64_t threads = 0;
	const char *why;

	RS_TRY(argument_int(a, "--threads", 0, 1024, &threads));
	if (threads == 0)
		threads = (int64_t)thread_auto_count(&why);
	RS_TRY(score_open(total));
	RS_TRY(job_open(job, (size_t)threads));
	if (o->path != NULL)
		RS_TRY(file_writer_open(&o->file, o->path));
	o->opened = o->path != NULL;
	RS_TRY(output_write(o, header, n_header));
	total->bytes = n_header;
	total->rows = job->rows;
	RS_TRY(job_run(job, o, (size_t)threads, total));
	return o->path != NULL ? file_writer_commit(&o->file) : output_flush();
}

static enum rs_status
synth_run(const struct arguments *a)
{
	const char *path = argument(a, "--output");
	struct synth_world world = { .layout = NULL };
	struct synth_job job;
	struct synth_output output = { .path = path };
	struct synth_score total = { .rows = 0 };
	enum rs_status status;

	if (a->n_positional > 0)
		return rs_fail(RS_EUSAGE, "synth takes no argument '%s'", a->positional[0]);
	if (path != NULL && strcmp(path, "-") == 0)
		output.path = NULL;
	job_init(&job, &world);
	status = synth_world_read(a, &world);
	if (status == RS_OK)
		status = synth_range(a, &world, &job);
	if (status == RS_OK)
		status = synth_refuse_existing(a, output.path);
	if (status == RS_OK)
		status = synth_refuse_existing(a, argument(a, "--spec-out"));
	if (status == RS_OK)
		status = synth_write(a, &job, &output, &total);
	if (status == RS_OK)
		status = synth_write_spec(a, &world, output.path);
	if (status == RS_OK)
		status = synth_report(a, &output, &total);
	if (output.opened)
		file_writer_close(&output.file);
	job_close(&job);
	score_close(&total);
	synth_world_close(&world);
	return status;
}

static const struct command_option synth_options[] = {
	{ "--output", 'O', "FILE", 0, "-", "Write the rows to FILE; - is standard output." },
	{ "--rows", 0, "N", 0, "100000", "Number of rows." },
	{ "--hours", 0, "N", 0, NULL, "Write the rows of N hours instead of a number of rows." },
	{ "--hour-rows", 0, "N", 0, "10000", "Rows in an hour of the log." },
	{ "--start", 0, "ROW", 0, "0", "Begin at this row." },
	{ "--no-header", 0, NULL, 0, NULL, "Leave the names of the columns out." },
	{ "--seed", 0, "N", 0, "1", "Seed of everything that is drawn." },
	{ "--users", 0, "N", 0, "1000", "Number of users." },
	{ "--items", 0, "N", 0, "300", "Number of items." },
	{ "--drift", 0, "X", 0, "0",
		"What items are worth wanders: the part of the logit that is an item's own "
		"changes within six hours by about X; of the layout log." },
	{ "--format", 0, "tsv|csv", 0, "tsv", "Separator of the columns." },
	{ "--layout", 0, SYNTH_LAYOUTS, 0, "log",
		"A click log with users, items and a bag of former items; one with aligned "
		"histories of items and categories; what users took, for retrieval; or 40 "
		"columns as Criteo's." },
	{ "--spec-out", 0, "FILE", 0, NULL, "Write a commented spec that fits the rows." },
	{ "--force", 0, NULL, 0, NULL, "Replace files that exist." },
	{ .name = NULL },
};

const struct command command_synth = {
	.name = "synth",
	.synopsis = "[-O FILE] [--rows N] [--seed N] [--layout NAME] [--spec-out FILE]",
	.text = "Write a log with a known truth.",
	.option = synth_options,
	.run = synth_run,
};
