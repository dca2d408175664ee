/*
 * Rows for bench: the file and the spec of a model (cmd/bench_spec.h), and batches
 * kept in memory.
 */
#ifndef CMD_BENCH_DATA_H
#define CMD_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cmd/bench_spec.h"
#include "data/batch.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "train/model.h"

/* Makes a directory of its own in TMPDIR, or else in /tmp; the caller removes and frees it. */
enum rs_status bench_directory(char **out);

/* Writes bench.ini and rows.tsv of the model into the directory. */
enum rs_status bench_data_write(const char *directory, const char *model, uint64_t rows);

/* The world of the layout that all rows of bench are of; close in every case. */
enum rs_status bench_world_open(struct synth_world *w);
void bench_world_close(struct synth_world *w);

struct bench_batches {
	struct batch *batch;           /* [n] all of as many rows                     */
	size_t n;
	uint64_t rows, text_bytes;     /* of an epoch, decompressed; 0: not known     */
};

/* What draws the items that the model's loss needs, NULL when none; makes the
 * model's catalogue. */
enum rs_status bench_sampler_open(struct model *m, struct sampler **out);
/* Opens the training files of the model's spec for `epochs` passes. */
enum rs_status bench_loader_open(
	const struct model *m, struct sampler *sampler, uint64_t epochs, struct loader **out);
/* The first full batches of the training files, rows_max rows at most; RS_EDATA when there
 * is not one.  may_be_short: then the only batch that there is, as it is trained on. */
enum rs_status bench_batches_read(const struct model *m, struct sampler *sampler,
	uint64_t rows_max, int may_be_short, struct bench_batches *out);
void bench_batches_free(struct bench_batches *b);

#endif
