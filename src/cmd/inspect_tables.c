/* Figures of embedding tables. */
#include "cmd/inspect_tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/dump.h"
#include "cmd/layout.h"

#define LONGEST 10

struct table_figures {
	uint64_t touched;
	double   mean;                 /* length of touched rows, NaN when none           */
	size_t   n_longest;
	struct { uint64_t id; double norm; } longest[LONGEST];   /* the longest first     */
	/* Of exact tables, whose rows know it; see embed/expiry.h. */
	double   seen, last;           /* sums of occurrences, and of when training had it */
	uint32_t newest, oldest;
};

static double
row_norm(const struct model_table *t, uint64_t id)
{
	const float *const w = model_table_weights(t, id);
	double square = 0;

	for (size_t k = 0; k < t->header->dim; k++)
		square += (double)w[k] * w[k];
	return sqrt(square);
}

/* A row that is not finite is longer than all others. */
static void
add_row(struct table_figures *f, uint64_t id, double norm)
{
	size_t i = f->n_longest < LONGEST ? f->n_longest++ : LONGEST;

	for (; i > 0 && !(f->longest[i - 1].norm >= norm || isnan(f->longest[i - 1].norm)); i--)
		if (i < LONGEST)
			f->longest[i] = f->longest[i - 1];
	if (i < LONGEST) {
		f->longest[i].id = id;
		f->longest[i].norm = norm;
	}
}

static void
add_entry(struct table_figures *f, const struct exact_entry *e)
{
	f->seen += e->count;
	f->last += e->last;
	f->newest = e->last > f->newest ? e->last : f->newest;
	f->oldest = f->touched == 1 || e->last < f->oldest ? e->last : f->oldest;
}

/* Of the rows, behind the newest of them. */
static double
mean_age(const struct table_figures *f)
{
	return f->touched > 0 ? (double)f->newest - f->last / (double)f->touched : NAN;
}

static double
mean_seen(const struct table_figures *f)
{
	return f->touched > 0 ? f->seen / (double)f->touched : NAN;
}

static const char *
age_unit(const struct model_files *f)
{
	return spec_settings(f->spec)->embedding.expire_after > 0 ? "minutes" : "steps";
}

static struct table_figures
measure(const struct model_table *t)
{
	struct table_figures out = { .mean = NAN };
	double sum = 0;

	for (uint64_t i = 0; i < model_table_count(t); i++) {
		const uint64_t id = model_table_id(t, i);

		if (!model_table_touched(t, id))
			continue;
		const double norm = row_norm(t, id);

		out.touched++;
		sum += norm;
		add_row(&out, id, norm);
		if (t->exact.header != NULL)
			add_entry(&out, model_table_entry(t, id));
	}
	if (out.touched > 0)
		out.mean = sum / (double)out.touched;
	return out;
}

static double
share(const struct table_file_header *h, const struct table_figures *figures)
{
	return h->rows > 0 ? (double)figures->touched / (double)h->rows : 0;
}

static enum rs_status
fill_tables(struct layout *l, const struct model_files *f, const char *field)
{
	static const char *const heading[] = { "table", "rows", "dim", "optimizer", "touched",
		"share", "norm", "longest", "row" };
	char text[32];

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_file_header *const h = f->table[i].header;

		if (!dump_is_of_field(h->name, field))
			continue;
		const struct table_figures figures = measure(&f->table[i]);
		RS_TRY(layout_cell(l, "%s", h->name));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)h->rows)));
		RS_TRY(layout_cell(l, "%" PRIu32, h->dim));
		RS_TRY(layout_cell(l, "%s", h->optimizer));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)figures.touched)));
		RS_TRY(layout_cell(l, "%.1f%%", 100 * share(h, &figures)));
		RS_TRY(layout_cell(l, "%s", layout_figure(text, figures.mean, 4)));
		if (figures.n_longest == 0) {
			RS_TRY(layout_cell(l, "n.a."));
			RS_TRY(layout_cell(l, "-"));
			continue;
		}
		RS_TRY(layout_cell(l, "%s", layout_figure(text, figures.longest[0].norm, 4)));
		RS_TRY(layout_cell(l, "%" PRIu64, figures.longest[0].id));
	}
	return RS_OK;
}

/* How old rows are, and how often training had them. */
static enum rs_status
print_ages(const struct model_files *f, const char *field)
{
	char seen[32], age[32], most[32];

	for (size_t i = 0; i < f->n_tables; i++) {
		if (f->table[i].exact.header == NULL
			|| !dump_is_of_field(f->table[i].header->name, field))
			continue;
		const struct table_figures figures = measure(&f->table[i]);
		RS_TRY(output_printf("%s   a row was trained %s times; last %s %s before the "
			"newest one on average, %s at most\n", f->table[i].header->name,
			layout_figure(seen, mean_seen(&figures), 1),
			layout_figure(age, mean_age(&figures), 1), age_unit(f),
			layout_count(most, (int64_t)figures.newest - figures.oldest)));
	}
	return RS_OK;
}

static enum rs_status
print_longest(const struct model_files *f, const char *field)
{
	char norm[32];

	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_file_header *const h = f->table[i].header;

		if (!dump_is_of_field(h->name, field))
			continue;
		const struct table_figures figures = measure(&f->table[i]);
		RS_TRY(output_printf("\nlongest rows of %s\n", h->name));
		for (size_t k = 0; k < figures.n_longest; k++)
			RS_TRY(output_printf("%12" PRIu64 "  %s\n", figures.longest[k].id,
				layout_figure(norm, figures.longest[k].norm, 4)));
	}
	return RS_OK;
}

enum rs_status
inspect_tables(const struct model_files *f, const char *field)
{
	struct layout l;

	layout_init(&l, 9, 0);
	enum rs_status status = fill_tables(&l, f, field);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	if (status == RS_OK)
		status = print_ages(f, field);
	if (status == RS_OK && field != NULL)
		status = print_longest(f, field);
	return status;
}

static void
json_longest(struct json *j, const struct table_figures *figures)
{
	json_open(j, "longest", '[');
	for (size_t k = 0; k < figures->n_longest; k++) {
		json_open(j, NULL, '{');
		json_uint(j, "row", figures->longest[k].id);
		json_double(j, "norm", figures->longest[k].norm);
		json_close(j);
	}
	json_close(j);
}

static void
json_ages(struct json *j, const struct model_files *f, const struct table_figures *figures)
{
	json_string(j, "clock", age_unit(f));
	json_double(j, "mean_age", mean_age(figures));
	json_int(j, "newest", figures->newest);
	json_int(j, "oldest", figures->oldest);
	json_double(j, "mean_trained", mean_seen(figures));
}

enum rs_status
inspect_tables_json(struct json *j, const struct model_files *f, const char *field)
{
	json_open(j, "tables", '[');
	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_file_header *const h = f->table[i].header;

		if (!dump_is_of_field(h->name, field))
			continue;
		const struct table_figures figures = measure(&f->table[i]);
		json_open(j, NULL, '{');
		json_string(j, "name", h->name);
		json_int(j, "rows", (int64_t)h->rows);
		json_int(j, "dim", h->dim);
		json_string(j, "optimizer", h->optimizer);
		json_string(j, "storage", row_storage_name(h->storage));
		json_int(j, "touched", (int64_t)figures.touched);
		json_double(j, "share", share(h, &figures));
		json_double(j, "norm", figures.mean);
		json_longest(j, &figures);
		if (f->table[i].exact.header != NULL)
			json_ages(j, f, &figures);
		json_close(j);
	}
	json_close(j);
	return RS_OK;
}
