/* Evaluation of whole files. */
#include "train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/loader.h"

#define EVALUATE_BATCH 4096

struct evaluation {
	struct evaluate_options options;
	struct metric *metric;
};

static enum rs_status
open_files(const struct schema *schema, const struct text_list *files, struct loader **out)
{
	const struct loader_options options = {
		.schema = schema, .files = files, .purpose = PARSE_EVAL,
		.batch_size = EVALUATE_BATCH, .epochs = 1,
		.n_threads = (size_t)schema->settings->data.threads,
	};

	return loader_open(&options, out);
}

static enum rs_status
add_batch(struct workers *w, const struct batch *batch, float *logit, struct metric *metric,
	uint64_t unseen[2])
{
	if (batch->B == 0)
		return RS_OK;
	RS_TRY(workers_predict(w, batch, logit, unseen));
	return metric_add_batch(metric, batch, logit);
}

static enum rs_status
score_all(struct workers *w, struct loader *loader, struct metric *metric,
	struct evaluate_counts *counts)
{
	const struct batch *batch;
	float *logit;

	RS_TRY(memory_alloc(EVALUATE_BATCH, sizeof *logit, &logit));
	enum rs_status status = loader_next(loader, &batch, NULL);
	while (status == RS_OK && batch != NULL) {
		status = add_batch(w, batch, logit, metric, counts->unseen);
		if (status == RS_OK)
			status = loader_next(loader, &batch, NULL);
	}
	loader_tally(loader, &counts->tally);
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
	}
	return status;
}

void
evaluate_close(struct evaluation *e)
{
	if (e == NULL)
		return;
	metric_free(e->metric);
	free(e);
}

static void
begin_metric(struct evaluation *e, const struct settings *settings)
{
	struct figure_list figures;

	if (e->options.figures != NULL)
		figures = *e->options.figures;
	else
		figure_list_of(settings, &figures);
	metric_reset(e->metric);
	metric_set_real(e->metric, settings->model.loss == LOSS_MSE);
	metric_set_figures(e->metric, &figures);
}

enum rs_status
evaluate_run(struct evaluation *e, struct workers *w, const struct model *m,
	struct metric_result *out, struct evaluate_counts *counts)
{
	const struct settings *const settings = m->schema.settings;
	const struct text_list *const files = e->options.files != NULL ? e->options.files
		: &settings->data.valid;
	struct evaluate_counts own;
	struct loader *loader;

	memset(&own, 0, sizeof own);
	begin_metric(e, settings);
	RS_TRY(open_files(&m->schema, files, &loader));
	enum rs_status status = score_all(w, loader, e->metric, &own);
	if (status == RS_OK)
		status = metric_result(e->metric, out);
	if (counts != NULL)
		*counts = own;
	loader_close(loader);
	return status;
}

const struct metric *
evaluate_metric(const struct evaluation *e)
{
	return e->metric;
}

enum rs_status
evaluate_classes(const struct schema *schema, const struct text_list *files,
	uint64_t *n_negative, uint64_t *n_positive)
{
	struct loader *loader;
	const struct batch *batch;

	*n_negative = *n_positive = 0;
	RS_TRY(open_files(schema, files, &loader));
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
