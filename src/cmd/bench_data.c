/* The file, the spec and the batches of bench. */
#include "cmd/bench_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cmd/command.h"

#define SPEC_LIMIT   ((size_t)64 << 10)

enum rs_status
bench_world_open(struct synth_world *w)
{
	w->seed = 1;
	w->key = rng_key(rng_key(w->seed, RNG_SYNTH), 0);
	return w->layout->open(w);
}

static enum rs_status
write_rows(struct synth_world *w, struct file_writer *file, uint64_t rows)
{
	char text[SYNTH_ROW_MAX];

	RS_TRY(bench_world_open(w));
	for (uint64_t i = 0; i < rows; i++) {
		struct synth_row row = { .text = text };

		w->layout->row(w, i, &row);
		RS_TRY(file_writer_write(file, text, row.n));
	}
	return RS_OK;
}

void
bench_world_close(struct synth_world *w)
{
	for (size_t i = 0; i < w->n_zipf; i++)
		free(w->zipf[i].knot);
	free(w->zipf);
	free(w->item);
}

static enum rs_status
write_spec(const char *directory, const char *model)
{
	struct buffer text;
	char *path = NULL;
	enum rs_status status;

	buffer_init(&text, SPEC_LIMIT);
	status = bench_spec_write(model, &text);
	if (status == RS_OK)
		status = file_join(directory, "bench.ini", &path);
	if (status == RS_OK)
		status = file_replace(path, text.data, text.n);
	free(path);
	buffer_free(&text);
	return status;
}

enum rs_status
bench_directory(char **out)
{
	const char *const given = command_environment().temporary;
	const char *const where = given != NULL ? given : "/tmp";
	char *path;

	*out = NULL;
	RS_TRY(file_join(where, "recsys-train-bench.XXXXXX", &path));
	if (mkdtemp(path) == NULL) {
		free(path);
		return rs_fail(RS_ECREATE, "cannot make a directory in '%s'", where);
	}
	*out = path;
	return RS_OK;
}

enum rs_status
bench_data_write(const char *directory, const char *model, uint64_t rows)
{
	struct synth_world world = { .layout = bench_spec_find(model)->layout };
	struct file_writer file;
	char *path;
	enum rs_status status;

	RS_TRY(write_spec(directory, model));
	RS_TRY(file_join(directory, "rows.tsv", &path));
	if ((status = file_writer_open(&file, path)) == RS_OK) {
		status = write_rows(&world, &file, rows);
		if (status == RS_OK)
			status = file_writer_commit(&file);
		file_writer_close(&file);
	}
	bench_world_close(&world);
	free(path);
	return status;
}

enum rs_status
bench_sampler_open(struct model *m, struct sampler **out)
{
	const struct settings *s = spec_settings(m->spec);

	*out = NULL;
	if (catalogue_needed(s))
		RS_TRY(catalogue_build(&m->schema, &s->data.train, NULL, &m->catalogue));
	return sampler_needed(s) ? sampler_create(&m->schema, m->catalogue, out) : RS_OK;
}

enum rs_status
bench_loader_open(
	const struct model *m, struct sampler *sampler, uint64_t epochs, struct loader **out)
{
	const struct settings *s = spec_settings(m->spec);
	const struct loader_options options = {
		.schema = &m->schema,
		.files = &s->data.train,
		.command = s->data.command[0] != '\0' ? s->data.command : NULL,
		.purpose = PARSE_TRAIN,
		.batch_size = (size_t)s->train.batch_size,
		.shuffle = s->data.shuffle,
		.seed = (uint64_t)s->train.seed,
		.epochs = epochs,
		.n_threads = (size_t)s->data.threads,
		.sampler = sampler,
	};

	return loader_open(&options, out);
}

static enum rs_status
keep_batch(const struct model *m, const struct batch *from, struct batch *to)
{
	enum rs_status status;
	uint32_t *row;

	RS_TRY(batch_init(to, &m->schema));
	RS_TRY(memory_alloc(from->B, sizeof(*row), &row));
	for (size_t i = 0; i < from->B; i++)
		row[i] = (uint32_t)i;
	status = batch_gather(to, from, row, from->B);
	free(row);
	return status;
}

/* Items are drawn for the copy: candidates are not copied. */
static enum rs_status
draw_items(const struct model *m, struct sampler *sampler, const struct batch *from,
	struct batch *to)
{
	struct batch spare;
	enum rs_status status;

	to->epoch = from->epoch;
	to->first_row = from->first_row;
	if (sampler == NULL)
		return RS_OK;
	status = batch_init(&spare, &m->schema);
	if (status == RS_OK)
		status = sampler_fill(sampler, to, &spare);
	batch_free(&spare);
	return status;
}

static enum rs_status
read_batches(const struct model *m, struct sampler *sampler, struct loader *loader, size_t n_max,
	size_t rows_min, struct bench_batches *out)
{
	const struct batch *batch;

	RS_TRY(memory_alloc(n_max, sizeof(*out->batch), &out->batch));
	while (out->n < n_max) {
		RS_TRY(loader_next(loader, &batch, NULL));
		if (batch == NULL)
			break;
		if (batch->B < rows_min || (out->n > 0 && batch->B < out->batch[0].B))
			continue;
		RS_TRY(keep_batch(m, batch, &out->batch[out->n++]));
		RS_TRY(draw_items(m, sampler, batch, &out->batch[out->n - 1]));
	}
	if (out->n > 0)
		return RS_OK;
	rs_fail(RS_EDATA, "the training data has no full batch of %zu rows", rows_min);
	return rs_hint("give more rows, or fewer to a batch with -o train.batch_size=N");
}

enum rs_status
bench_batches_read(const struct model *m, struct sampler *sampler, uint64_t rows_max,
	int may_be_short, struct bench_batches *out)
{
	const size_t B = (size_t)spec_settings(m->spec)->train.batch_size;
	const uint64_t n = rows_max / B;
	struct loader *loader;
	enum rs_status status;

	*out = (struct bench_batches){ .n = 0 };
	RS_TRY(bench_loader_open(m, NULL, 1, &loader));
	status = read_batches(m, sampler, loader, n > 0 ? (size_t)n : 1, may_be_short ? 1 : B, out);
	out->rows = loader_rows(loader);
	for (size_t i = 0; out->rows > 0 && i < loader_n_files(loader); i++)
		out->text_bytes += loader_file(loader, i)->size;
	loader_close(loader);
	return status;
}

void
bench_batches_free(struct bench_batches *b)
{
	for (size_t i = 0; i < b->n; i++)
		batch_free(&b->batch[i]);
	free(b->batch);
	*b = (struct bench_batches){ .n = 0 };
}
