/* The specs of bench and the layout of their rows. */
#include "cmd/bench_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* ---- rows: those of Criteo, with columns of ids behind them ------------------ */

#define WIDER_COLUMNS_MAX 2

/* A layout; what w->layout points at. */
struct wider {
	struct synth_layout layout;
	size_t n_columns;
	struct { uint64_t ids; size_t length; } column[WIDER_COLUMNS_MAX];
};

static const struct wider *
wider_of(const struct synth_world *w)
{
	return (const struct wider *)w->layout;
}

static enum rs_status
wider_open(struct synth_world *w)
{
	const struct wider *wider = wider_of(w);
	struct synth_zipf *zipf;

	RS_TRY(synth_layout_criteo.open(w));
	RS_TRY(memory_alloc(w->n_zipf + wider->n_columns, sizeof *zipf, &zipf));
	memcpy(zipf, w->zipf, w->n_zipf * sizeof *zipf);
	free(w->zipf);
	w->zipf = zipf;
	for (size_t c = 0; c < wider->n_columns; c++)
		RS_TRY(synth_zipf_open(&w->zipf[w->n_zipf++], wider->column[c].ids, 1.05));
	return RS_OK;
}

static void
wider_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	const struct wider *wider = wider_of(w);
	const uint64_t key = rng_key(w->key, ~row);
	uint64_t draw = 0;
	char *end;

	synth_layout_criteo.row(w, row, out);
	end = out->text + out->n - 1;          /* over the line end */
	for (size_t c = 0; c < wider->n_columns; c++)
		for (size_t i = 0; i < wider->column[c].length; i++) {
			const struct synth_zipf *zipf = &w->zipf[w->n_zipf - wider->n_columns + c];

			*end++ = i == 0 ? '\t' : '|';
			end = synth_digits(end, synth_zipf_draw(zipf, rng_u64(key, draw++)));
		}
	*end++ = '\n';
	out->n = (size_t)(end - out->text);
}

/* Items clicked before and their categories. */
static const struct wider wider_histories = {
	.layout = { .name = "histories", .open = wider_open, .row = wider_row },
	.n_columns = 2, .column = { { 1000000, 50 }, { 2000, 50 } },
};
/* As many items as C21 has, but none is missing. */
static const struct wider wider_item = {
	.layout = { .name = "item", .open = wider_open, .row = wider_row },
	.n_columns = 1, .column = { { 7046547, 1 } },
};

/* ---- specs ------------------------------------------------------------------ */

#define NUMBERS \
	"[data]\ntrain = rows.tsv\nformat = tsv\nheader = no\nlabel = 1\nshuffle = no\n" \
	"[field I1..I13]\ncolumn = 2..14\ntype = numeric\ntransform = log1p\n"
#define EMBEDDING \
	"[embedding]\nbuckets = 100000\ndim = 16\noptimizer = adagrad\nlearning_rate = 0.02\n"
#define FIELDS NUMBERS "[field C1..C26]\ncolumn = 15..40\n" EMBEDDING
#define DNN "[dnn]\nhidden = 400,400,400\nactivation = relu\n"
#define TRAIN(batch) \
	"[train]\nbatch_size = " #batch "\noptimizer = adam\nlearning_rate = 0.001\n"

static const struct bench_spec bench_specs[] = {
	{ "fm", &synth_layout_criteo, FIELDS TRAIN(4096) },
	{ "dcn", &synth_layout_criteo,
	  FIELDS DNN "[dcn]\nversion = v2\nlayers = 3\nrank = 0\nstructure = parallel\n"
	  TRAIN(4096) },
	{ "din", &wider_histories.layout,
	  FIELDS DNN
	  "[field clicked_C1]\ncolumn = 41\ntype = sequence\nshare = C1\nmax_length = 50\n"
	  "[field clicked_C2]\ncolumn = 42\ntype = sequence\nshare = C2\nmax_length = 50\n"
	  "[din]\nattention = 64\nactivation = relu\n"
	  TRAIN(1024) },
	{ "two_tower", &wider_item.layout,
	  "[model]\nloss = softmax\n"
	  NUMBERS
	  "[field C1..C20]\ncolumn = 15..34\n"
	  "[field C21]\ncolumn = 41\n"
	  "[field C22..C26]\ncolumn = 36..40\n"
	  EMBEDDING
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
