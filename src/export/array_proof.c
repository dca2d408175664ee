/* Files of arrays against the arrays they were made of. */
#include "export/array_proof.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"

struct comparison {
	struct array_proof *proof;
	const struct array *a;
	struct array_file *file, *scales;  /* scales of int8                          */
	size_t   item, scale_item;
	uint64_t row;
	struct buffer word;
};

static enum rs_status
differ(const struct comparison *c, size_t column, double is, double wanted)
{
	return rs_fail(RS_EUNMET, "'%s': '%s' row %" PRIu64 " column %zu is %.9g, in the model "
		"%.9g", c->file->path, c->a->name, c->row, column, is, wanted);
}

static void
count(struct comparison *c, double difference, size_t n)
{
	c->proof->numbers += n;
	c->proof->largest = fmax(c->proof->largest, difference);
}

static enum rs_status
compare_f32(struct comparison *c, const void *bytes, const float *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float x;

		memcpy(&x, (const char *)bytes + i * sizeof x, sizeof x);
		if (memcmp(&x, &row[i], sizeof x) != 0)
			return differ(c, i, (double)x, (double)row[i]);
	}
	count(c, 0, n);
	return RS_OK;
}

static enum rs_status
compare_f16(struct comparison *c, const void *bytes, const float *row, size_t n)
{
	double largest = 0;

	for (size_t i = 0; i < n; i++) {
		const double wanted = (double)row[i];
		const int exponent = wanted != 0 ? ilogb(wanted) : -14;
		uint16_t h;

		memcpy(&h, (const char *)bytes + i * sizeof h, sizeof h);
		const double off = fabs((double)half_value(h) - wanted);
		if (!(off <= ldexp(0.5, (exponent > -14 ? exponent : -14) - 10)))
			return differ(c, i, (double)half_value(h), wanted);
		largest = fmax(largest, off);
	}
	count(c, largest, n);
	return RS_OK;
}

static enum rs_status
compare_int8(struct comparison *c, const void *bytes, const float *row, size_t n)
{
	const void *at;
	double largest = 0;
	float scale;

	RS_TRY(array_file_row(c->scales, c->scale_item, c->row, &at));
	memcpy(&scale, at, sizeof scale);
	for (size_t i = 0; i < n; i++) {
		int8_t q;

		memcpy(&q, (const char *)bytes + i, sizeof q);
		const double is = q * (double)scale, off = fabs(is - (double)row[i]);
		if (!(off <= 0.5 * (double)scale * (1 + 1e-4)))
			return differ(c, i, is, (double)row[i]);
		largest = fmax(largest, off);
	}
	count(c, largest, n);
	return RS_OK;
}

static enum rs_status
compare_word(struct comparison *c)
{
	c->word.n = 0;
	RS_TRY(array_text_word(c->a, c->row, &c->word));
	if (c->word.n == c->file->word_n
	    && (c->word.n == 0 || memcmp(c->word.data, c->file->word, c->word.n) == 0))
		return RS_OK;
	return rs_fail(RS_EUNMET, "'%s': row %" PRIu64 " has the name '%.*s', in the model '%.*s'",
		c->file->path, c->row, (int)c->file->word_n, c->file->word, (int)c->word.n,
		c->word.data);
}

static enum rs_status
compare_row(void *context, const float *row, size_t n)
{
	struct comparison *const c = context;
	enum rs_status status;
	const void *bytes;
	float scale;

	RS_TRY(array_file_row(c->file, c->item, c->row, &bytes));
	if (c->file->is_text)
		RS_TRY(compare_word(c));
	if (c->a->is_scale) {
		scale = array_scale(row, n);
		status = compare_f32(c, bytes, &scale, 1);
	} else if (c->a->type == ARRAY_f16) {
		status = compare_f16(c, bytes, row, n);
	} else if (c->a->type == ARRAY_int8) {
		status = compare_int8(c, bytes, row, n);
	} else {
		status = compare_f32(c, bytes, row, n);
	}
	c->row++;
	return status;
}

static int
find(const struct array_proof *p, const char *name, struct array_file **file, size_t *item)
{
	for (size_t i = 0; i < p->n_files; i++)
		for (size_t k = 0; k < p->file[i].n; k++)
			if (strcmp(p->file[i].item[k].name, name) == 0) {
				*file = &p->file[i];
				*item = k;
				return 1;
			}
	return 0;
}

static enum rs_status
check_shape(const struct comparison *c)
{
	const struct array_found *const f = &c->file->item[c->item];
	const struct array *const a = c->a;

	/* Texts and vectors have two axes always. */
	if (f->type == a->type && f->rows == a->rows
	    && (f->columns == a->columns || c->file->map.size == 0)
	    && (f->rank == a->rank || c->file->is_text))
		return RS_OK;
	return rs_fail(RS_EUNMET, "'%s': '%s' is %s [%" PRIu64 ",%zu], in the model %s [%" PRIu64
		",%zu]", c->file->path, a->name, array_kind[f->type].name, f->rows, f->columns,
		array_kind[a->type].name, a->rows, a->columns);
}

/* `scales` follows an array of int8. */
static enum rs_status
prove(struct array_proof *p, const struct array *a, const struct array *scales)
{
	struct comparison c = { .proof = p, .a = a };

	if (!find(p, a->name, &c.file, &c.item)
	    || (a->type == ARRAY_int8 && !find(p, scales->name, &c.scales, &c.scale_item)))
		return rs_fail(RS_EUNMET, "'%s': there is no array '%s'", p->file[0].path, a->name);
	RS_TRY(check_shape(&c));
	if (c.scales != NULL && c.scales->item[c.scale_item].rows != a->rows)
		return rs_fail(RS_EUNMET, "'%s': '%s' has not a number for each row",
			c.scales->path, scales->name);
	buffer_init(&c.word, (size_t)1 << 30);
	enum rs_status status = array_rows(a, compare_row, &c);
	if (status == RS_OK && c.file->is_text && c.file->at != c.file->map.data + c.file->map.size)
		status = array_file_bad(c.file, "there is something behind the last row");
	buffer_free(&c.word);
	return status;
}

enum rs_status
array_proof_run(struct array_proof *p, const struct arrays *set)
{
	size_t n = 0;

	p->numbers = 0;
	p->largest = 0;
	for (size_t i = 0; i < p->n_files; i++)
		n += p->file[i].n;
	for (size_t i = 0; i < set->n; i++)
		RS_TRY(prove(p, &set->item[i], i + 1 < set->n ? &set->item[i + 1] : NULL));
	if (n != set->n)
		return rs_fail(RS_EUNMET, "'%s': %zu arrays, in the model %zu", p->file[0].path, n,
			set->n);
	return RS_OK;
}
