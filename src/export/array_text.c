/* Text as word2vec has it: a line "rows columns", then of each row its name and numbers. */
#include "export/array_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"

#define FLUSH ((size_t)1 << 20)
#define LIMIT ((size_t)1 << 30)

/* A blank inside of a name would make it two. */
static enum rs_status
put_word(struct buffer *out, const char *name, size_t n)
{
	static const char special[] = " \t\n\r\\", escape[] = "stnr\\";

	for (size_t i = 0; i < n; i++) {
		const char *const at = name[i] != '\0' ? strchr(special, name[i]) : NULL;

		if (at != NULL)
			RS_TRY(buffer_printf(out, "\\%c", escape[at - special]));
		else
			RS_TRY(buffer_append(out, &name[i], 1));
	}
	return RS_OK;
}

enum rs_status
array_text_word(const struct array *a, uint64_t r, struct buffer *out)
{
	size_t n;

	if (a->words == NULL)
		return buffer_printf(out, "%" PRIu64, r);
	const char *const name = array_word(a->words, r, &n);
	return put_word(out, name, n);
}

struct text { const struct array_output *out; struct buffer buffer; uint64_t row; };

static enum rs_status
flush(struct text *t)
{
	const enum rs_status status = file_writer_write(t->out->file, t->buffer.data,
		t->buffer.n);

	t->buffer.n = 0;
	return status;
}

static enum rs_status
put_row(void *context, const float *row, size_t n)
{
	struct text *const t = context;
	char number[32];

	RS_TRY(array_text_word(&t->out->item[0], t->row, &t->buffer));
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(row[i]))
			return rs_fail(RS_EDATA, "'%s' row %" PRIu64 ": %g is no number of text",
				t->out->item[0].name, t->row, (double)row[i]);
		RS_TRY(buffer_printf(&t->buffer, " %s", number_print_float(number, row[i])));
	}
	RS_TRY(buffer_append(&t->buffer, "\n", 1));
	t->row++;
	return t->buffer.n >= FLUSH ? flush(t) : RS_OK;
}

static enum rs_status
write_text(const struct array_output *out)
{
	const struct array *const a = &out->item[0];
	struct text t = { .out = out };

	buffer_init(&t.buffer, LIMIT);
	enum rs_status status = buffer_printf(&t.buffer, "%" PRIu64 " %zu\n", a->rows, a->columns);
	if (status == RS_OK)
		status = array_rows(a, put_row, &t);
	if (status == RS_OK)
		status = flush(&t);
	buffer_free(&t.buffer);
	return status;
}

/* --- reading ------------------------------------------------------------------------ */

/* What is up to the next blank or the end of the line, which is passed; *last: it was that. */
static int
next_part(struct array_file *f, const char **part, size_t *n, int *last)
{
	const char *const end = f->map.data + f->map.size;

	*part = f->at;
	while (f->at < end && *f->at != ' ' && *f->at != '\n')
		f->at++;
	*n = (size_t)(f->at - *part);
	if (f->at == end || *n == 0)
		return 0;
	*last = *f->at++ == '\n';
	return 1;
}

enum rs_status
array_text_next(struct array_file *f, const void **out)
{
	const char *part;
	size_t n;
	int last = 0;

	if (!next_part(f, &f->word, &f->word_n, &last) || last)
		return array_file_bad(f, "a row has no numbers, or is cut off");
	for (size_t i = 0; i < f->item[0].columns; i++) {
		if (last || !next_part(f, &part, &n, &last) || !number_float(part, n, &f->row[i]))
			return array_file_bad(f, "a row has too few numbers, or what is none");
	}
	*out = f->row;
	return last ? RS_OK : array_file_bad(f, "a row has too many numbers");
}

static enum rs_status
read_text(struct array_file *f, const char *name)
{
	struct array_found found = { .rank = 2, .type = ARRAY_f32 };
	const char *part;
	uint64_t columns;
	size_t n;
	int last;

	f->is_text = 1;
	f->at = f->map.data;
	if (!next_part(f, &part, &n, &last) || last || !number_u64(part, n, &found.rows)
	    || !next_part(f, &part, &n, &last) || !last || !number_u64(part, n, &columns)
	    || columns > f->map.size)
		return array_file_bad(f, "its first line is not the numbers of rows and columns");
	found.columns = (size_t)columns;
	memcpy(found.name, name, strnlen(name, sizeof found.name - 1));
	RS_TRY(memory_alloc(found.columns + 1, sizeof *f->row, &f->row));
	return array_file_add(f, &found);
}

const struct array_format array_text = {
	.name = "text", .suffix = ".txt", .one_each = 1, .only_floats = 1, .has_words = 1,
	.write = write_text, .read = read_text,
};
