/* The specs of bench and the layout of their rows. */
#include "cmd/bench_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* ---- rows: those of Criteo, and the same with two histories behind ---------- */

#define HISTORY_LENGTH 50

/* Of the items and of their categories. */
static const uint64_t history_ids[] = { 1000000, 2000 };
#define N_HISTORIES (sizeof history_ids / sizeof *history_ids)

static enum rs_status
history_open(struct synth_world *w)
{
	struct synth_zipf *zipf;

	RS_TRY(synth_layout_criteo.open(w));
	RS_TRY(memory_alloc(w->n_zipf + N_HISTORIES, sizeof *zipf, &zipf));
	memcpy(zipf, w->zipf, w->n_zipf * sizeof *zipf);
	free(w->zipf);
	w->zipf = zipf;
	for (size_t h = 0; h < N_HISTORIES; h++)
		RS_TRY(synth_zipf_open(&w->zipf[w->n_zipf++], history_ids[h], 1.05));
	return RS_OK;
}

static void
history_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	const struct synth_zipf *zipf = w->zipf + w->n_zipf - N_HISTORIES;
	const uint64_t key = rng_key(w->key, ~row);
	char *end;

	synth_layout_criteo.row(w, row, out);
	end = out->text + out->n - 1;          /* over the line end */
	for (size_t i = 0; i < N_HISTORIES * HISTORY_LENGTH; i++) {
		*end++ = i % HISTORY_LENGTH == 0 ? '\t' : '|';
		end = synth_digits(end,
			synth_zipf_draw(&zipf[i / HISTORY_LENGTH], rng_u64(key, i)));
	}
	*end++ = '\n';
	out->n = (size_t)(end - out->text);
}

static const struct synth_layout history_layout = {
	.name = "history", .open = history_open, .row = history_row,
};

/* ---- specs ------------------------------------------------------------------ */

#define FIELDS \
	"[data]\ntrain = rows.tsv\nformat = tsv\nheader = no\nlabel = 1\nshuffle = no\n" \
	"[field I1..I13]\ncolumn = 2..14\ntype = numeric\ntransform = log1p\n" \
	"[field C1..C26]\ncolumn = 15..40\n" \
	"[embedding]\nbuckets = 100000\ndim = 16\noptimizer = adagrad\nlearning_rate = 0.02\n"
#define DNN "[dnn]\nhidden = 400,400,400\nactivation = relu\n"
#define TRAIN(batch) \
	"[train]\nbatch_size = " #batch "\noptimizer = adam\nlearning_rate = 0.001\n"

static const struct bench_spec bench_specs[] = {
	{ "fm", &synth_layout_criteo, FIELDS TRAIN(4096) },
	{ "dcn", &synth_layout_criteo,
	  FIELDS DNN "[dcn]\nversion = v2\nlayers = 3\nrank = 0\nstructure = parallel\n"
	  TRAIN(4096) },
	{ "din", &history_layout,
	  FIELDS DNN
	  "[field clicked_C1]\ncolumn = 41\ntype = sequence\nshare = C1\nmax_length = 50\n"
	  "[field clicked_C2]\ncolumn = 42\ntype = sequence\nshare = C2\nmax_length = 50\n"
	  "[din]\nattention = 64\nactivation = relu\n"
	  TRAIN(1024) },
	{ "two_tower", &synth_layout_criteo,
	  "[model]\nloss = softmax\n"
	  FIELDS
	  "[two_tower]\nsimilarity = cosine\ntemperature = 0.05\nlogq = yes\n"
	  "[tower user]\nfields = I1,I2,I3,I4,I5,I6,I7,I8,I9,I10,I11,I12,I13,"
	  "C1,C2,C3,C4,C5,C6,C7,C8,C9,C10,C11,C12,C13,C14,C15,C16\nhidden = 256,128,64\n"
	  "[tower item]\nfields = C17,C18,C19,C20,C21,C22,C23,C24,C25,C26\nhidden = 256,128,64\n"
	  "[items]\nkey = C21\n"
	  "[eval]\ncandidates = rows\n"
	  TRAIN(4096) },
	{ NULL, &synth_layout_criteo, FIELDS DNN TRAIN(4096) },
};

const struct bench_spec *
bench_spec_find(const char *model)
{
	const struct bench_spec *row = bench_specs;

	while (row->model != NULL && strcmp(row->model, model) != 0)
		row++;
	return row;
}

enum rs_status
bench_spec_write(const char *model, struct buffer *out)
{
	return buffer_printf(out, "[model]\ntype = %s\n%s", model, bench_spec_find(model)->text);
}
