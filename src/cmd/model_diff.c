/* What differs between two models. */
#include "cmd/model_diff.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/dump.h"
#include "cmd/layout.h"

struct difference {
	const char *kind, *name;       /* "param" or "table"                          */
	const char *missing;           /* text when it has no counterpart, else NULL  */
	uint64_t n, n_changed;         /* rows of a table, values of a parameter      */
	double   largest;
	uint64_t at;                   /* row or value with the largest               */
};

typedef enum rs_status report(void *context, const struct difference *d);

/* Bits count: NaN equals itself, 0 differs from -0. */
static void
compare_values(struct difference *d, uint64_t at, const char *a, const char *b, size_t n)
{
	if (n == 0 || memcmp(a, b, n * sizeof(float)) == 0)
		return;
	d->n_changed++;
	for (size_t i = 0; i < n; i++) {
		float x, y;
		memcpy(&x, a + i * sizeof x, sizeof x);
		memcpy(&y, b + i * sizeof y, sizeof y);
		const double step = fabs((double)x - y);
		if (step > d->largest || (isnan(step) && !isnan(d->largest))) {
			d->largest = step;
			d->at = at;
		}
	}
}

static enum rs_status
find_param(const struct model_files *f, const char *name, struct dense_param *out, int *found)
{
	*found = 0;
	for (size_t i = 0; i < f->dense.head.n_params && !*found; i++) {
		RS_TRY(dense_file_param(&f->dense, i, f->dense_path, out));
		*found = strcmp(out->name, name) == 0;
	}
	return RS_OK;
}

static enum rs_status
diff_params(const struct model_files *f, const struct model_files *g, report *print, void *context)
{
	for (size_t i = 0; i < f->dense.head.n_params; i++) {
		struct dense_param p, q;
		int found;
		RS_TRY(dense_file_param(&f->dense, i, f->dense_path, &p));
		RS_TRY(find_param(g, p.name, &q, &found));
		struct difference d = { .kind = "param", .name = p.name, .n = p.rows * p.columns };
		if (!found)
			d.missing = "added";
		else if (p.rows != q.rows || p.columns != q.columns)
			d.missing = "another shape";
		for (uint64_t k = 0; d.missing == NULL && k < d.n; k++)
			compare_values(&d, k, f->dense.weight + (p.offset + k) * sizeof(float),
				g->dense.weight + (q.offset + k) * sizeof(float), 1);
		RS_TRY(print(context, &d));
	}
	return RS_OK;
}

/* Rows that one of them does not have are changed, too. */
static void
diff_exact(struct difference *d, const struct model_table *t, const struct model_table *u)
{
	for (uint64_t i = 0; i < model_table_count(t); i++) {
		const uint64_t id = model_table_id(t, i);
		const float *const other = model_table_weights(u, id);

		if (other == NULL)
			d->n_changed++;
		else
			compare_values(d, id, (const char *)model_table_weights(t, id),
				(const char *)other, t->header->dim);
	}
	for (uint64_t i = 0; i < model_table_count(u); i++)
		if (model_table_entry(t, model_table_id(u, i)) == NULL) {
			d->n_changed++;
			d->n++;
		}
}

/* Neither file has the row of a hashed table, and rows begin alike. */
static int
both_as_begun(const struct model_table *t, const struct model_table *u, uint64_t id)
{
	if (!model_table_is_absent(t, id) || !model_table_is_absent(u, id))
		return 0;
	const struct row_start a = rows_file_start(t->sparse.header);
	const struct row_start b = rows_file_start(u->sparse.header);

	return a.key == b.key && a.stddev == b.stddev && t->begins == u->begins;
}

static enum rs_status
diff_table(const struct model_table *t, const struct model_table *u, report *print, void *context)
{
	const struct table_file_header *h = t->header;
	struct difference d = { .kind = "table", .name = h->name, .n = h->rows };

	if (u == NULL)
		d.missing = "added";
	else if (t->exact.header != NULL && u->exact.header != NULL && u->header->dim == h->dim)
		diff_exact(&d, t, u);
	else if (t->exact.header != u->exact.header || u->header->rows != h->rows
		|| u->header->dim != h->dim || u->header->begin != h->begin
		|| u->header->end != h->end)
		d.missing = "another shape";
	else
		for (uint64_t id = h->begin; id < h->end; id++)
			if (!both_as_begun(t, u, id))
				compare_values(&d, id, (const char *)model_table_weights(t, id),
					(const char *)model_table_weights(u, id), h->dim);
	return print(context, &d);
}

static enum rs_status
diff_all(const struct model_files *f, const struct model_files *g, const char *field, report *print,
	void *context)
{
	if (field == NULL)
		RS_TRY(diff_params(f, g, print, context));
	for (size_t i = 0; i < f->n_tables; i++)
		if (dump_is_of_field(f->table[i].header->name, field))
			RS_TRY(diff_table(&f->table[i], model_files_table(g,
				f->table[i].header->name), print, context));
	for (size_t i = 0; i < g->n_tables; i++)
		if (dump_is_of_field(g->table[i].header->name, field)
			&& model_files_table(f, g->table[i].header->name) == NULL)
			RS_TRY(print(context, &(struct difference){
				.kind = "table", .name = g->table[i].header->name,
				.missing = "removed" }));
	return RS_OK;
}

static enum rs_status
print_text(void *context, const struct difference *d)
{
	char changed[32];
	const int is_table = strcmp(d->kind, "table") == 0;

	(void)context;
	RS_TRY(output_printf("%s %-20s  ", d->kind, d->name));
	if (d->missing != NULL)
		return output_printf("%s\n", d->missing);
	RS_TRY(output_printf("changed %s %s (%.1f%%)", is_table ? "rows" : "values",
		layout_count(changed, (int64_t)d->n_changed),
		d->n > 0 ? 100.0 * (double)d->n_changed / (double)d->n : 0.0));
	if (d->n_changed == 0)
		return output_printf("\n");
	return output_printf("   largest step %.4g (%s %" PRIu64 ")\n", d->largest,
		is_table ? "row" : "value", d->at);
}

static enum rs_status
print_json(void *context, const struct difference *d)
{
	struct json *j = context;

	json_open(j, NULL, '{');
	json_string(j, "kind", d->kind);
	json_string(j, "name", d->name);
	json_string(j, "difference", d->missing != NULL ? d->missing : d->n_changed > 0 ? "changed"
		: "none");
	json_int(j, "n", (int64_t)d->n);
	json_int(j, "changed", (int64_t)d->n_changed);
	json_double(j, "largest", d->largest);
	json_uint(j, "at", d->at);
	json_close(j);
	return RS_OK;
}

static enum rs_status
diff_json(const struct model_files *f, const struct model_files *g, const char *field)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '[');
	enum rs_status status = diff_all(f, g, field, print_json, &j);
	json_close(&j);
	if (status == RS_OK)
		status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

enum rs_status
model_diff_print(const struct model_files *f, const char *other, const char *field, int json)
{
	struct model_files g;

	RS_TRY(model_files_open(other, &g));
	const enum rs_status status = json ? diff_json(f, &g, field)
		: diff_all(f, &g, field, print_text, NULL);
	model_files_close(&g);
	return status;
}
