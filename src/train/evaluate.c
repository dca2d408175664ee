/* Evaluation of whole files. */
#include "train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "train/ranks.h"
#include "train/retrieval.h"

#define EVALUATE_BATCH 4096

struct evaluation {
	struct evaluate_options options;
	struct metric *metric;
	struct retrieval *retrieval;   /* NULL: figures of ranks are of the rows      */
	/* Of the current run: */
	struct figure_list figures;
	const struct train_place *place;
	int    needs_scores, counts_unseen;
	struct evaluate_counts counts;
};

static enum rs_status
open_files(const struct schema *schema, const struct text_list *files, int may_be_empty,
	enum loader_cache cache, struct loader **out)
{
	const struct loader_options options = {
		.schema = schema, .files = files, .purpose = PARSE_EVAL,
		.batch_size = EVALUATE_BATCH, .epochs = 1,
		.n_threads = (size_t)schema->settings->data.threads,
		.may_be_empty = may_be_empty,
		.cache = cache != LOADER_CACHE_NONE ? cache : LOADER_CACHE_USE,
	};

	return loader_open(&options, out);
}

/* Ranks that score a share each must have the same rows; NULL: the end of them. */
static enum rs_status
check_rows(const struct train_place *place, const struct batch *batch)
{
	uint64_t hash = 0;

	if (!ranks_several(place))
		return RS_OK;
	if (batch != NULL)
		hash = hash_fingerprint64((const char *)batch->label,
			batch->B * sizeof *batch->label) | 1;
	for (size_t f = 0; batch != NULL && f < batch->F; f++)
		hash = hash_cat(hash, hash_fingerprint64((const char *)batch->column[f].ids,
			batch->column[f].N * sizeof *batch->column[f].ids));
	return ranks_compare(place, hash, RS_EDATA, "has other validation data than");
}

static enum rs_status
add_batch(struct evaluation *e, struct workers *w, const struct batch *batch, float *logit)
{
	RS_TRY(check_rows(e->place, batch));
	if (batch->B == 0)
		return RS_OK;
	if (e->needs_scores)
		RS_TRY(workers_predict(w, batch, logit,
			e->counts_unseen ? e->counts.unseen : NULL));
	if (e->retrieval != NULL && !retrieval_is_ready(e->retrieval))
		RS_TRY(retrieval_add(e->retrieval, batch));
	return metric_add_batch(e->metric, batch, e->needs_scores ? logit : NULL);
}

static enum rs_status
read_all(struct evaluation *e, struct workers *w, struct loader *loader)
{
	const struct batch *batch;
	float *logit;

	RS_TRY(memory_alloc(EVALUATE_BATCH, sizeof *logit, &logit));
	enum rs_status status = loader_next(loader, &batch, NULL);
	while (status == RS_OK && batch != NULL) {
		status = add_batch(e, w, batch, logit);
		if (status == RS_OK)
			status = loader_next(loader, &batch, NULL);
	}
	if (status == RS_OK)
		status = check_rows(e->place, NULL);
	loader_tally(loader, &e->counts.tally);
	free(logit);
	return status;
}

enum rs_status
evaluate_open(const struct evaluate_options *options, struct evaluation **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->options = *options;
	const enum rs_status status = metric_create(&(*out)->metric);
	if (status != RS_OK) {
		evaluate_close(*out);
		*out = NULL;
	} else if (options->keep) {
		metric_keep_order((*out)->metric);
	}
	return status;
}

void
evaluate_close(struct evaluation *e)
{
	if (e == NULL)
		return;
	metric_free(e->metric);
	retrieval_free(e->retrieval);
	free(e);
}

static int
ranks_catalogue(const struct evaluation *e, const struct settings *settings)
{
	const enum evaluate_candidates wanted = e->options.candidates;
	int ranks = 0;

	for (size_t i = 0; i < e->figures.n; i++)
		ranks |= figure_is_rank(&e->figures.item[i]);
	return ranks && (wanted == EVALUATE_AS_SPEC ? settings->eval.candidates == EVAL_CATALOGUE
		: wanted == EVALUATE_CATALOGUE);
}

static enum rs_status
begin_retrieval(struct evaluation *e, const struct model *m)
{
	if (e->retrieval != NULL)
		return RS_OK;
	if (model_vector_dim(m) == 0) {
		rs_fail(RS_EUSAGE, "all items can be ranked by a two_tower only, not by '%s'",
			m->schema.settings->model.type);
		return rs_hint("rank the rows of each group: candidates = rows");
	}
	if (m->catalogue == NULL) {
		rs_fail(RS_EUSAGE, "the model has no catalogue of items to rank");
		return rs_hint("train it with candidates = catalogue in [eval]");
	}
	return retrieval_create(&m->schema, &e->retrieval);
}

/* The figures of this run, and who computes them. */
static enum rs_status
begin_run(struct evaluation *e, const struct model *m)
{
	const struct settings *const settings = m->schema.settings;
	struct figure_list of_rows = { 0 };

	if (e->options.figures != NULL)
		e->figures = *e->options.figures;
	else
		figure_list_of(settings, &e->figures);
	const int catalogue = ranks_catalogue(e, settings);
	if (catalogue)
		RS_TRY(begin_retrieval(e, m));
	for (size_t i = 0; i < e->figures.n; i++)
		if (!catalogue || !figure_is_rank(&e->figures.item[i]))
			of_rows.item[of_rows.n++] = e->figures.item[i];
	e->needs_scores = !catalogue || of_rows.n > 0;
	if (!e->needs_scores && retrieval_is_ready(e->retrieval))
		return RS_OK;
	memset(&e->counts, 0, sizeof e->counts);
	metric_reset(e->metric);
	metric_set_real(e->metric, settings->model.loss == LOSS_MSE);
	metric_set_figures(e->metric, &of_rows);
	return RS_OK;
}

/* The figures of the rows, in a result with a place for all. */
static enum rs_status
rows_result(struct evaluation *e, struct metric_result *out)
{
	struct metric_result rows;

	RS_TRY(metric_result(e->metric, &rows));
	*out = rows;
	out->figures = e->figures;
	for (size_t i = 0; i < e->figures.n; i++)
		out->value[i] = metric_named(&rows, e->figures.item[i].name);
	return RS_OK;
}

static const struct text_list *
masked_files(const struct evaluation *e, const struct settings *settings)
{
	if (e->options.mask_nothing)
		return NULL;
	if (e->options.seen != NULL)
		return e->options.seen;
	return settings->eval.mask_seen ? &settings->data.train : NULL;
}

static enum rs_status
read_rows(struct evaluation *e, struct workers *w, const struct model *m)
{
	struct loader *loader;

	RS_TRY(open_files(&m->schema, e->options.files != NULL ? e->options.files
		: &m->schema.settings->data.valid, e->options.may_be_empty, e->options.cache,
		&loader));
	const enum rs_status status = read_all(e, w, loader);
	loader_close(loader);
	return status;
}

enum rs_status
evaluate_run(struct evaluation *e, struct workers *w, const struct model *m,
	struct metric_result *out, struct evaluate_counts *counts)
{
	e->counts_unseen = counts != NULL;
	e->place = m->place;
	RS_TRY(begin_run(e, m));
	enum rs_status status = RS_OK;
	if (e->needs_scores || !retrieval_is_ready(e->retrieval))
		status = read_rows(e, w, m);
	if (counts != NULL)
		*counts = e->counts;
	RS_TRY(status);
	RS_TRY(rows_result(e, out));
	if (e->retrieval == NULL)
		return RS_OK;
	status = retrieval_run(e->retrieval, w, m, masked_files(e, m->schema.settings), out);
	return status == RS_ENOINPUT ? rs_hint("items of the training rows are masked: give these "
		"with --seen, or rank all items with --no-mask") : status;
}

const struct metric *
evaluate_metric(const struct evaluation *e)
{
	return e->metric;
}

void
evaluate_scores(const struct evaluation *e, struct evaluate_scores *out)
{
	*out = (struct evaluate_scores){ .figures = e->figures };
	metric_rows(e->metric, &out->rows);
	if (e->retrieval != NULL)
		retrieval_groups(e->retrieval, &out->catalogue);
}

enum rs_status
evaluate_classes(const struct schema *schema, const struct text_list *files,
	enum loader_cache cache, uint64_t *n_negative, uint64_t *n_positive)
{
	struct loader *loader;
	const struct batch *batch;

	*n_negative = *n_positive = 0;
	RS_TRY(open_files(schema, files, 0, cache, &loader));
	enum rs_status status = loader_next(loader, &batch, NULL);
	while (status == RS_OK && batch != NULL && (*n_negative == 0 || *n_positive == 0)) {
		for (size_t b = 0; b < batch->B; b++) {
			*n_negative += batch->label[b] < 1;
			*n_positive += batch->label[b] > 0;
		}
		status = loader_next(loader, &batch, NULL);
	}
	loader_close(loader);
	return status;
}
