/* A file cut into spans of whole rows: the unit of index, parsing and order. */
#include <stdlib.h>
#include <string.h>

#include "data/loader_private.h"

#define SPAN_PEEK ((size_t)1 << 20)

/* Has at least n bytes ready, or all there are. */
static enum rs_status
reader_fill(struct loader_reader *r, size_t n)
{
	size_t got;

	if (r->text.n - r->begin >= n || r->at_end)
		return RS_OK;
	if (r->begin > 0) {
		memmove(r->text.data, r->text.data + r->begin, r->text.n - r->begin);
		r->text.n -= r->begin;
		r->begin = 0;
	}
	RS_TRY(buffer_reserve(&r->text, n - r->text.n));
	while (r->text.n < n && !r->at_end) {
		RS_TRY(source_read(r->source, r->text.data + r->text.n, n - r->text.n, &got));
		RS_TRY(content_hash_feed(&r->content, r->text.data + r->text.n, got));
		r->text.n += got;
		r->at_end = got == 0;
	}
	return RS_OK;
}

/* Does the first row of the text make sense under the layout of another file? */
static int
reader_row_fits(const struct loader *l, const struct parser_layout *layout, const char *text,
	size_t n)
{
	const char *end = memchr(text, '\n', n);
	const struct parser_span span = { .file = "", .layout = layout, .text = text,
		.n = end == NULL ? n : (size_t)(end + 1 - text), .line = 1 };
	struct parser_tally tally = { .read = 0 };
	struct parser *parser = NULL;
	struct batch batch;
	int fits;

	if (batch_init(&batch, l->options.schema) != RS_OK)
		return 0;
	fits = parser_open(l->options.schema, l->options.purpose, &parser) == RS_OK &&
		parser_parse(parser, &span, &batch, &tally) == RS_OK &&
		tally.read == 1 && tally.skipped == 0;
	parser_close(parser);
	batch_free(&batch);
	return fits;
}

/* A header with the names may be in the first file only: a later file whose first
 * row is a good row of the first file's layout has none. */
static enum rs_status
reader_layout(struct loader_reader *r, struct loader *l, struct loader_input *input, size_t n)
{
	const struct loader_input *first = &l->input[0];
	const size_t bom = n >= 3 && memcmp(r->text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct rs_failure failure;

	if (parser_layout_make(r->schema, l->options.purpose, input->file.path, r->text.data, n,
	    &input->layout, &input->skip, &input->skip_lines) == RS_OK)
		return RS_OK;
	rs_failure_take(&failure);
	if (failure.status != RS_EDATA || input == first || first->layout == NULL ||
	    !reader_row_fits(l, first->layout, r->text.data + bom, n - bom))
		return rs_failure_put(&failure);
	input->layout = first->layout;
	input->layout_borrowed = 1;
	input->skip = bom;
	input->skip_lines = 0;
	return RS_OK;
}

static enum rs_status
reader_begin(struct loader_reader *r, struct loader *l, struct loader_input *input)
{
	size_t n;

	RS_TRY(reader_fill(r, SPAN_PEEK));
	n = r->text.n;
	if (l->indexed && source_is_gzip(r->source))
		r->group_bytes = l->gzip_group_bytes;
	if (n > 0 && input->layout == NULL) {
		RS_TRY(reader_layout(r, l, input, n < SPAN_PEEK ? n : SPAN_PEEK));
		RS_TRY(loader_check_header(input));
	}
	if (input->skip > n)
		return rs_fail(RS_EDATA, "'%s' is shorter than it was: the file changed",
			input->file.path);
	r->begin = input->skip;
	r->offset = input->skip;
	r->line = 1 + input->skip_lines;
	return RS_OK;
}

/* span: distance of the access points to collect in input->index, 0 = none. */
enum rs_status
loader_reader_open(struct loader_reader *r, struct loader *l, struct loader_input *input,
	size_t span)
{
	const int64_t max_line = l->options.schema->settings->data.max_line;

	memset(r, 0, sizeof *r);
	r->schema = l->options.schema;
	r->group_bytes = l->group_bytes;
	r->max_line = max_line > 0 ? (size_t)max_line : 1;
	buffer_init(&r->text, 2 * (SPAN_PEEK + l->gzip_group_bytes + r->max_line));
	content_hash_init(&r->content);
	RS_TRY(l->options.command != NULL ? source_open_command(l->options.command, &r->source)
		: source_open(input->file.path, &r->source));
	source_set_stop(r->source, &l->stop);
	source_read_ahead(r->source);
	if (l->options.schema->settings->data.format != FORMAT_TFRECORD)
		source_expect_lines(r->source);
	if (span > 0)
		RS_TRY(source_collect(r->source, span, l->gzip_points, &input->index));
	return reader_begin(r, l, input);
}

void
loader_reader_close(struct loader_reader *r)
{
	source_close(r->source);
	buffer_free(&r->text);
	content_hash_free(&r->content);
	memset(r, 0, sizeof *r);
}

/* Bytes of the text that belong to the row that was too long. */
static size_t
reader_rest(struct loader_reader *r)
{
	const size_t n = r->text.n - r->begin;
	const char *const text = r->text.data + r->begin;
	const char *const end = n > 0 && r->drop == UINT64_MAX ? memchr(text, '\n', n) : NULL;

	if (r->drop != UINT64_MAX) {
		const size_t take = n < r->drop ? n : (size_t)r->drop;

		r->drop = n > 0 ? r->drop - take : 0;
		return take;
	}
	if (end != NULL)
		r->line++;
	if (end != NULL || r->at_end)
		r->drop = 0;
	return end != NULL ? (size_t)(end + 1 - text) : n;
}

/* Goes behind a row that was longer than max_line. */
static enum rs_status
reader_drop(struct loader_reader *r)
{
	while (r->drop > 0) {
		size_t n;

		RS_TRY(reader_fill(r, SPAN_PEEK));
		n = reader_rest(r);
		r->begin += n;
		r->offset += n;
	}
	return RS_OK;
}

/* Length of the span: a pure function of the text, group_bytes and max_line. */
static enum rs_status
reader_cut(struct loader_reader *r, size_t *cut)
{
	for (size_t want = r->group_bytes;; want += r->group_bytes) {
		const char *text;
		size_t have;
		int whole;

		RS_TRY(reader_fill(r, want + 1));
		text = r->text.data + r->begin;
		have = r->text.n - r->begin;
		whole = r->at_end && have <= want;
		if (have > want)
			have = want;
		*cut = have > 0 ? parser_split(r->schema, text, have, whole) : 0;
		if (*cut > 0 || whole)
			return RS_OK;
		if (have > r->max_line) {
			*cut = have;
			r->drop = parser_overhang(r->schema, text, have);
			return RS_OK;
		}
	}
}

enum rs_status
loader_reader_next(struct loader_reader *r, const char **text, struct loader_group *g)
{
	RS_TRY(reader_drop(r));
	RS_TRY(reader_cut(r, &g->size));
	*text = r->text.data + r->begin;
	g->offset = r->offset;
	g->line = r->line;
	r->begin += g->size;
	r->offset += g->size;
	r->line += parser_lines(r->schema, *text, g->size);
	return RS_OK;
}
