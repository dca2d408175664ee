/* Rows of every format, and how fast they are read. */
#include "cmd/bench_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/bench_data.h"
#include "cmd/synth.h"
#include "data/tf_example.pb-c.h"
#include "data/tfrecord.h"

#define CELLS       40             /* label, numbers, ids                            */
#define NUMBERS_END 14
#define PIECE       ((size_t)1 << 20)
#define INPUT_LIMIT ((size_t)32 << 20)

struct cell { const char *text; size_t n; };

struct bench_format {
	const char *name;
	const char *fields;            /* of the spec, behind [data] format           */
	enum rs_status (*put)(struct buffer *out, const struct cell cell[CELLS]);
};

/* ---- a row in each format ---------------------------------------------------- */

static enum rs_status
put_cells(struct buffer *out, const struct cell cell[CELLS], char separator)
{
	for (size_t i = 0; i < CELLS; i++) {
		RS_TRY(buffer_append(out, cell[i].text, cell[i].n));
		RS_TRY(buffer_append(out, i + 1 < CELLS ? &separator : "\n", 1));
	}
	return RS_OK;
}

static enum rs_status
put_tsv(struct buffer *out, const struct cell cell[CELLS])
{
	return put_cells(out, cell, '\t');
}

static enum rs_status
put_csv(struct buffer *out, const struct cell cell[CELLS])
{
	return put_cells(out, cell, ',');
}

/* A number is the value of its column's index; an id is an index of its own, with value 1. */
static enum rs_status
put_index(struct buffer *out, const struct cell cell[CELLS])
{
	RS_TRY(buffer_append(out, cell[0].text, cell[0].n));
	for (size_t i = 1; i < CELLS; i++) {
		if (cell[i].n == 0)
			continue;
		if (i < NUMBERS_END)
			RS_TRY(buffer_printf(out, " %zu:%.*s", i, (int)cell[i].n, cell[i].text));
		else
			RS_TRY(buffer_printf(out, " %llu:1",
				strtoull(cell[i].text, NULL, 16) * CELLS + i));
	}
	return buffer_append(out, "\n", 1);
}

static enum rs_status
put_field(struct buffer *out, const struct cell cell[CELLS])
{
	RS_TRY(buffer_append(out, cell[0].text, cell[0].n));
	for (size_t i = 1; i < CELLS; i++) {
		if (cell[i].n == 0)
			continue;
		RS_TRY(i < NUMBERS_END
			? buffer_printf(out, " %zu:0:%.*s", i, (int)cell[i].n, cell[i].text)
			: buffer_printf(out, " %zu:%.*s:1", i, (int)cell[i].n, cell[i].text));
	}
	return buffer_append(out, "\n", 1);
}

/* A feature of a tf.Example and all that it points to. */
struct feature {
	char name[8];
	TfExample__Entry entry;
	TfExample__Feature value;
	TfExample__Bytes bytes;
	TfExample__Integers integers;
	ProtobufCBinaryData text;
	int64_t number;
};

static void
set_feature(struct feature *f, size_t i, const struct cell *cell)
{
	f->entry = (TfExample__Entry)TF_EXAMPLE__ENTRY__INIT;
	f->value = (TfExample__Feature)TF_EXAMPLE__FEATURE__INIT;
	f->bytes = (TfExample__Bytes)TF_EXAMPLE__BYTES__INIT;
	f->integers = (TfExample__Integers)TF_EXAMPLE__INTEGERS__INIT;
	if (i == 0)
		snprintf(f->name, sizeof f->name, "label");
	else
		snprintf(f->name, sizeof f->name, "%c%zu", i < NUMBERS_END ? 'I' : 'C',
			i < NUMBERS_END ? i : i + 1 - NUMBERS_END);
	f->entry.key = (ProtobufCBinaryData){ strlen(f->name), (uint8_t *)f->name };
	f->entry.value = &f->value;
	if (i < NUMBERS_END) {
		f->number = strtoll(cell->text, NULL, 10);
		f->integers.n_value = 1;
		f->integers.value = &f->number;
		f->value.kind_case = TF_EXAMPLE__FEATURE__KIND_INTEGERS;
		f->value.integers = &f->integers;
		return;
	}
	f->text = (ProtobufCBinaryData){ cell->n, (uint8_t *)(uintptr_t)cell->text };
	f->bytes.n_value = 1;
	f->bytes.value = &f->text;
	f->value.kind_case = TF_EXAMPLE__FEATURE__KIND_BYTES;
	f->value.bytes = &f->bytes;
}

static enum rs_status
put_example(struct buffer *out, const struct cell cell[CELLS])
{
	TfExample__Example example = TF_EXAMPLE__EXAMPLE__INIT;
	TfExample__Features features = TF_EXAMPLE__FEATURES__INIT;
	TfExample__Entry *entry[CELLS];
	struct feature feature[CELLS];
	uint8_t packed[2 * SYNTH_ROW_MAX];

	example.features = &features;
	features.feature = entry;
	for (size_t i = 0; i < CELLS; i++) {
		if (cell[i].n == 0)
			continue;
		set_feature(&feature[i], i, &cell[i]);
		entry[features.n_feature++] = &feature[i].entry;
	}
	return tfrecord_append(out, packed, tf_example__example__pack(&example, packed));
}

#define COLUMNS "header = no\nlabel = 1\n" \
	"[field I1..I13]\ncolumn = 2..14\ntype = numeric\ntransform = log1p\n" \
	"[field C1..C26]\ncolumn = 15..40\n"
#define INDEX   "[field all]\ntype = multi\nmax_length = 39\n"

static const struct bench_format formats[] = {
	{ "tsv", COLUMNS, put_tsv },
	{ "csv", COLUMNS, put_csv },
	{ "libsvm", "index_base = 1\n" INDEX, put_index },
	{ "libffm", "index_base = 0\n"
	  "[field I1..I13]\ncolumn = 1..13\ntype = numeric\ntransform = log1p\n"
	  "[field C1..C26]\ncolumn = 14..39\n", put_field },
	{ "libfm", INDEX, put_index },
	{ "tfrecord", "label = label\n[field I1..I13]\ntype = numeric\ntransform = log1p\n"
	  "[field C1..C26]\n", put_example },
};
#define N_FORMATS (sizeof formats / sizeof *formats)

size_t
bench_formats(const char *names[BENCH_FORMATS_MAX])
{
	static_assert(N_FORMATS < BENCH_FORMATS_MAX, "no room for the names of all formats");

	for (size_t i = 0; i < N_FORMATS; i++)
		names[i] = formats[i].name;
	names[N_FORMATS] = NULL;
	return N_FORMATS;
}

static const struct bench_format *
find(const char *name)
{
	const struct bench_format *f = formats;

	while (strcmp(f->name, name) != 0)
		f++;
	return f;
}

/* ---- the file and the spec ------------------------------------------------------ */

static void
split(const struct synth_row *row, struct cell cell[CELLS])
{
	const char *at = row->text, *const end = row->text + row->n;

	for (size_t i = 0; i < CELLS; i++) {
		cell[i].text = at;
		cell[i].n = strcspn(at, "\t\n");
		at += cell[i].n + (at + cell[i].n < end);
	}
}

static enum rs_status
write_rows(const struct bench_format *f, uint64_t rows, struct buffer *piece,
	struct file_writer *file)
{
	struct synth_world w = { .layout = &synth_layout_criteo };
	char text[SYNTH_ROW_MAX];
	enum rs_status status = bench_world_open(&w);

	for (uint64_t i = 0; status == RS_OK && i < rows; i++) {
		struct synth_row row = { .text = text };
		struct cell cell[CELLS];

		w.layout->row(&w, i, &row);
		split(&row, cell);
		status = f->put(piece, cell);
		if (status == RS_OK && (piece->n > PIECE || i + 1 == rows)) {
			status = file_writer_write(file, piece->data, piece->n);
			piece->n = 0;
		}
	}
	bench_world_close(&w);
	return status;
}

static enum rs_status
write_file(const struct bench_format *f, uint64_t rows, const char *directory)
{
	struct file_writer file;
	struct buffer piece;
	enum rs_status status;
	char *path;

	RS_TRY(file_join(directory, "rows", &path));
	buffer_init(&piece, 2 * PIECE);
	if ((status = file_writer_open(&file, path)) == RS_OK) {
		status = write_rows(f, rows, &piece, &file);
		if (status == RS_OK)
			status = file_writer_commit(&file);
		file_writer_close(&file);
	}
	buffer_free(&piece);
	free(path);
	return status;
}

static enum rs_status
load_spec(const struct arguments *a, const struct bench_format *f, const char *directory,
	struct spec **out)
{
	struct arguments own = *a;
	char text[1024], *path;
	const char *positional[1];
	size_t n_used;

	snprintf(text, sizeof text, "[model]\ntype = deepfm\n[data]\ntrain = rows\nformat = %s\n"
		"%s[embedding]\nbuckets = 100000\n", f->name, f->fields);
	RS_TRY(file_join(directory, "bench.ini", &path));
	enum rs_status status = file_replace(path, text, strlen(text));

	positional[0] = path;
	own.positional = positional;
	own.n_positional = 1;
	if (status == RS_OK)
		status = command_spec(&own, NULL, 0, out, &n_used);
	free(path);
	return status;
}

static enum rs_status
measure(const struct arguments *a, const struct bench_format *f, const char *directory,
	struct bench_input input[BENCH_INPUTS])
{
	const struct model_options options = { .shape_only = 1 };
	struct model *m;
	struct spec *spec;

	RS_TRY(load_spec(a, f, directory, &spec));
	RS_TRY(model_create(spec, &options, &m));
	const enum rs_status status = bench_inputs(m, INPUT_LIMIT, input);

	model_free(m);
	return status;
}

enum rs_status
bench_format_measure(
	const struct arguments *a, const char *format, int64_t rows, struct bench_result *out)
{
	const struct bench_format *const f = find(format);
	struct bench_input input[BENCH_INPUTS];
	char *directory;

	*out = (struct bench_result){ .model = "deepfm", .precision = "fp32",
		.placement = bench_placement_names[BENCH_LOCAL], .format = f->name,
		.gflops = NAN, .kernel_limit = NAN, .scaling = NAN,
		.copy_bytes_per_s = NAN };
	RS_TRY(bench_directory(&directory));
	enum rs_status status = write_file(f, (uint64_t)rows, directory);

	if (status == RS_OK)
		status = measure(a, f, directory, input);
	if (status == RS_OK)
		bench_add_inputs(out, input);
	(void)file_remove_tree(directory);
	free(directory);
	return status;
}
