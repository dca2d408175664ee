/* The catalogue from the training files: their rows in order, read once. */
#include <stdlib.h>
#include <string.h>

#include "data/catalogue.h"
#include "data/loader_private.h"

#define NAMES_LIMIT ((size_t)1 << 40)

struct builder {
	const struct schema *schema;       /* of the model                            */
	struct settings settings;          /* its own, with the item as the row's id  */
	struct schema parsed;              /* of these                                */
	struct loader *loader;             /* never started: opens and cuts the files */
	struct parser *parser;
	struct batch rows, missing;        /* missing: one row without any value      */
	struct buffer names;
	struct batch_place *rest, *item;   /* [capacity] of the new items of a span   */
	size_t capacity;
	struct catalogue *c;
};

static enum rs_status
places_reserve(struct builder *b, size_t n)
{
	if (n <= b->capacity)
		return RS_OK;
	free(b->rest);
	free(b->item);
	b->rest = b->item = NULL;
	b->capacity = 0;
	RS_TRY(memory_alloc(n, sizeof *b->rest, &b->rest));
	RS_TRY(memory_alloc(n, sizeof *b->item, &b->item));
	for (size_t i = 0; i < n; i++)
		b->rest[i] = (struct batch_place){ &b->missing, 0 };
	b->capacity = n;
	return RS_OK;
}

static enum rs_status
name_add(struct builder *b, uint32_t number, size_t row)
{
	const struct parser_ids *ids = parser_ids(b->parser);

	if (ids != NULL && row < ids->n)
		RS_TRY(buffer_append(&b->names, ids->text + ids->begin[row],
			ids->end[row] - ids->begin[row]));
	b->c->text_end[number] = b->names.n;
	return RS_OK;
}

static enum rs_status
rows_add(struct builder *b)
{
	size_t n = 0;

	RS_TRY(places_reserve(b, b->rows.B));
	for (size_t i = 0; i < b->rows.B; i++) {
		uint32_t number;
		int is_new;

		RS_TRY(catalogue_count(b->c, b->rows.item[i], 1, &number, &is_new));
		if (!is_new)
			continue;
		RS_TRY(name_add(b, number, i));
		b->item[n++] = (struct batch_place){ &b->rows, (uint32_t)i };
	}
	return batch_join(&b->c->items, b->schema, b->rest, b->item, n);
}

static enum rs_status
file_add(struct builder *b, struct loader_input *input, struct loader_reader *reader)
{
	struct parser_tally tally = { .read = 0 };
	struct loader_group g;

	for (;;) {
		struct parser_span span = { .file = input->file.path };

		RS_TRY(loader_reader_next(reader, &span.text, &g));
		if (g.size == 0)
			return RS_OK;
		span.layout = input->layout;
		span.n = g.size;
		span.line = g.line;
		span.offset = g.offset;
		batch_clear(&b->rows);
		RS_TRY(parser_parse(b->parser, &span, &b->rows, &tally));
		RS_TRY(rows_add(b));
	}
}

static enum rs_status
files_add(struct builder *b)
{
	enum rs_status status = RS_OK;

	for (size_t i = 0; status == RS_OK && i < b->loader->n_inputs; i++) {
		struct loader_input *input = &b->loader->input[i];
		struct loader_reader reader;

		status = loader_reader_open(&reader, b->loader, input, 0);
		if (status == RS_OK)
			status = file_add(b, input, &reader);
		loader_reader_close(&reader);
	}
	return status;
}

/* The base's names go on growing in the builder. */
static enum rs_status
builder_take_base(struct builder *b, struct catalogue *base)
{
	buffer_init(&b->names, NAMES_LIMIT);
	b->c = base;
	if (base == NULL) {
		RS_TRY(memory_alloc(1, sizeof *b->c, &b->c));
		return batch_init(&b->c->items, b->schema);
	}
	return buffer_append(&b->names, base->text, base->n > 0 ? base->text_end[base->n - 1] : 0);
}

static enum rs_status
builder_open(struct builder *b, const struct text_list *files)
{
	const struct loader_options options = { .schema = &b->parsed, .files = files,
		.purpose = PARSE_TRAIN, .batch_size = 1, .epochs = 1, .n_threads = 1 };

	b->settings = *b->schema->settings;
	b->settings.data.id = b->schema->field[b->schema->item_field].settings->column;
	RS_TRY(schema_build(&b->settings, &b->parsed));
	RS_TRY(batch_init(&b->rows, &b->parsed));
	RS_TRY(batch_init(&b->missing, b->schema));
	RS_TRY(batch_add_missing(&b->missing, b->schema));
	RS_TRY(parser_open(&b->parsed, PARSE_TRAIN, &b->parser));
	return loader_open(&options, &b->loader);
}

static void
builder_close(struct builder *b)
{
	loader_close(b->loader);
	parser_close(b->parser);
	batch_free(&b->rows);
	batch_free(&b->missing);
	schema_free(&b->parsed);
	buffer_free(&b->names);
	free(b->rest);
	free(b->item);
}

enum rs_status
catalogue_build(const struct schema *schema, const struct text_list *files,
	struct catalogue *base, struct catalogue **out)
{
	struct builder b = { .schema = schema };
	enum rs_status status = builder_take_base(&b, base);

	*out = NULL;
	if (status == RS_OK)
		status = builder_open(&b, files);
	if (status == RS_OK)
		status = files_add(&b);
	if (status == RS_OK && b.c->n == 0)
		status = rs_fail(RS_EDATA, "the training rows have no items");
	if (status == RS_OK) {
		free(b.c->text);
		b.c->text = b.names.data;
		b.names.data = NULL;
		b.names.n = b.names.capacity = 0;
		*out = b.c;
	} else {
		catalogue_free(b.c);
	}
	builder_close(&b);
	return status;
}
