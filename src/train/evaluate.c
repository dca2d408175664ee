/* Evaluation of whole files. */
#include "train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/loader.h"

#define EVALUATE_BATCH 4096

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
	return metric_add(metric, batch->B, logit, batch->label, batch->weight);
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
evaluate_files(struct workers *w, const struct model *m, const struct text_list *files,
	struct metric_result *out, struct evaluate_counts *counts)
{
	struct evaluate_counts own;
	struct loader *loader = NULL;
	struct metric *metric = NULL;

	memset(&own, 0, sizeof own);
	enum rs_status status = metric_create(&metric);
	if (status == RS_OK)
		status = open_files(&m->schema, files, &loader);
	if (status == RS_OK) {
		metric_set_real(metric, m->schema.settings->model.loss == LOSS_MSE);
		status = score_all(w, loader, metric, &own);
	}
	if (status == RS_OK)
		status = metric_result(metric, out);
	if (counts != NULL)
		*counts = own;
	loader_close(loader);
	metric_free(metric);
	return status;
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
