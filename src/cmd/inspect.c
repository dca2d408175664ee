/* The command inspect: what is in a model. */
#include "cmd/command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/dump.h"
#include "cmd/inspect_ledger.h"
#include "cmd/layout.h"
#include "cmd/model_diff.h"
#include "cmd/model_files.h"

#define TEXT_LIMIT ((size_t)64 << 20)

struct table_figures {
	uint64_t touched;
	double   norm;             /* mean length of touched rows, NaN when none      */
	int      finite;
};

static struct table_figures
measure_table(const struct model_table *t)
{
	struct table_figures out = { .norm = NAN, .finite = 1 };
	double sum = 0;

	for (uint64_t id = t->header->begin; id < t->header->end; id++) {
		const float *w = model_table_weights(t, id);
		double square = 0;
		if (!model_table_touched(t, id))
			continue;
		for (size_t k = 0; k < t->header->dim; k++)
			square += (double)w[k] * w[k];
		out.touched++;
		sum += sqrt(square);
	}
	out.finite = isfinite(sum);
	if (out.touched > 0)
		out.norm = sum / (double)out.touched;
	return out;
}

static enum rs_status
fill_tables(struct layout *l, const struct model_files *f, const char *field)
{
	static const char *const heading[] = { "table", "rows", "dim", "optimizer", "touched",
		"share", "norm" };
	char text[32];

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_file_header *h = f->table[i].header;
		if (!dump_is_of_field(h->name, field))
			continue;
		const struct table_figures figures = measure_table(&f->table[i]);
		RS_TRY(layout_cell(l, "%s", h->name));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)h->rows)));
		RS_TRY(layout_cell(l, "%" PRIu32, h->dim));
		RS_TRY(layout_cell(l, "%s", h->optimizer));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)figures.touched)));
		RS_TRY(layout_cell(l, "%.1f%%", h->rows > 0 ? 100.0 * (double)figures.touched
			/ (double)h->rows : 0.0));
		RS_TRY(layout_cell(l, "%s", layout_figure(text, figures.norm, 4)));
	}
	return RS_OK;
}

static enum rs_status
print_tables(const struct model_files *f, const char *field)
{
	struct layout l;

	layout_init(&l, 7, 0);
	enum rs_status status = fill_tables(&l, f, field);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
add_param(struct layout *l, const struct model_files *f, const struct dense_param *p)
{
	const size_t n = p->rows * p->columns;
	double square = 0, low = NAN, high = NAN;

	for (size_t i = 0; i < n; i++) {
		float value;
		memcpy(&value, f->dense.weight + (p->offset + i) * sizeof value, sizeof value);
		square += (double)value * value;
		low = fmin(low, value);
		high = fmax(high, value);
	}
	RS_TRY(layout_cell(l, "%s", p->name));
	RS_TRY(layout_cell(l, "%" PRIu64 " x %" PRIu64, p->rows, p->columns));
	RS_TRY(layout_cell(l, "%.4g", sqrt(square)));
	RS_TRY(layout_cell(l, "%.4g", low));
	return layout_cell(l, "%.4g", high);
}

static enum rs_status
fill_params(struct layout *l, const struct model_files *f)
{
	static const char *const heading[] = { "parameter", "shape", "norm", "min", "max" };

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < f->dense.head.n_params; i++) {
		struct dense_param p;
		RS_TRY(dense_file_param(&f->dense, i, f->dense_path, &p));
		RS_TRY(add_param(l, f, &p));
	}
	return RS_OK;
}

static enum rs_status
print_params(const struct model_files *f)
{
	struct layout l;

	layout_init(&l, 5, 0);
	enum rs_status status = fill_params(&l, f);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
print_spec(const struct model_files *f)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = spec_print(f->spec, 0, &text);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	buffer_free(&text);
	return status;
}

static uint64_t
count_values(const struct model_files *f)
{
	uint64_t n = f->dense.head.P;

	for (size_t i = 0; i < f->n_tables; i++)
		n += (f->table[i].header->end - f->table[i].header->begin)
			* f->table[i].header->dim;
	return n;
}

static enum rs_status
print_summary(const struct model_files *f)
{
	const struct checkpoint_progress *p = &f->manifest.progress;
	const struct settings *s = spec_settings(f->spec);
	char step[32], parameters[32], bytes[32], read[32], skipped[32];

	RS_TRY(output_printf("format 1   version v%06" PRIu64, f->version));
	if (f->manifest.parent != 0)
		RS_TRY(output_printf("   parent v%06" PRIu64, f->manifest.parent));
	RS_TRY(output_printf("   %s   %s\n",
		p->state == CHECKPOINT_FINAL ? "finished" : "unfinished",
		layout_bytes(bytes, manifest_bytes(&f->manifest))));
	RS_TRY(output_printf("%s   step %s   seed %" PRIu64 "   %s parameters", s->model.type,
		layout_count(step, (int64_t)f->dense.head.step), p->seed,
		layout_count(parameters, (int64_t)count_values(f))));
	if (p->best_epoch != 0)
		RS_TRY(output_printf("   best epoch %" PRIu64 " (valid %s %.4f)", p->best_epoch,
			s->train.monitor, p->best));
	if (f->n_items > 0)
		RS_TRY(output_printf("   %s items", layout_count(read, (int64_t)f->n_items)));
	RS_TRY(output_printf("\nrows read %s   skipped %s   skipped steps %" PRIu64 "   "
		"optimizer state %s\n\n",
		layout_count(read, (int64_t)p->tally.read),
		layout_count(skipped, (int64_t)p->tally.skipped),
		f->dense.head.skipped_steps, f->dense.head.has_state ? "yes" : "no"));
	return print_tables(f, NULL);
}

static void
json_tables(struct json *j, const struct model_files *f, const char *field)
{
	json_open(j, "tables", '[');
	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_file_header *h = f->table[i].header;
		if (!dump_is_of_field(h->name, field))
			continue;
		const struct table_figures figures = measure_table(&f->table[i]);
		json_open(j, NULL, '{');
		json_string(j, "name", h->name);
		json_int(j, "rows", (int64_t)h->rows);
		json_int(j, "dim", h->dim);
		json_string(j, "optimizer", h->optimizer);
		json_int(j, "touched", (int64_t)figures.touched);
		json_double(j, "norm", figures.norm);
		json_close(j);
	}
	json_close(j);
}

static enum rs_status
json_params(struct json *j, const struct model_files *f)
{
	json_open(j, "params", '[');
	for (size_t i = 0; i < f->dense.head.n_params; i++) {
		struct dense_param p;
		RS_TRY(dense_file_param(&f->dense, i, f->dense_path, &p));
		json_open(j, NULL, '{');
		json_string(j, "name", p.name);
		json_int(j, "rows", (int64_t)p.rows);
		json_int(j, "columns", (int64_t)p.columns);
		json_close(j);
	}
	json_close(j);
	return RS_OK;
}

static enum rs_status
fill_json(struct json *j, const struct model_files *f, const char *field)
{
	const struct checkpoint_progress *p = &f->manifest.progress;
	const struct settings *s = spec_settings(f->spec);

	json_open(j, NULL, '{');
	json_string(j, "type", s->model.type);
	json_string(j, "directory", f->path);
	json_int(j, "version", (int64_t)f->version);
	json_int(j, "parent", (int64_t)f->manifest.parent);
	json_bool(j, "finished", p->state == CHECKPOINT_FINAL);
	json_int(j, "step", (int64_t)f->dense.head.step);
	json_int(j, "skipped_steps", (int64_t)f->dense.head.skipped_steps);
	json_int(j, "seed", (int64_t)p->seed);
	json_int(j, "parameters", (int64_t)count_values(f));
	json_int(j, "bytes", (int64_t)manifest_bytes(&f->manifest));
	json_int(j, "best_epoch", (int64_t)p->best_epoch);
	json_string(j, "monitor", s->train.monitor);
	json_double(j, "best", p->best_epoch != 0 ? p->best : NAN);
	json_int(j, "rows_read", (int64_t)p->tally.read);
	json_int(j, "rows_skipped", (int64_t)p->tally.skipped);
	if (f->n_items > 0)
		json_int(j, "items", (int64_t)f->n_items);
	RS_TRY(json_params(j, f));
	json_tables(j, f, field);
	json_close(j);
	return output_printf("%s\n", json_text(j));
}

static enum rs_status
print_json(const struct model_files *f, const char *field)
{
	struct json j;

	json_init(&j);
	const enum rs_status status = fill_json(&j, f, field);
	json_free(&j);
	return status;
}

static enum rs_status
check_field(const struct model_files *f, const char *field)
{
	for (size_t i = 0; field != NULL && i < f->n_tables; i++)
		if (dump_is_of_field(f->table[i].header->name, field))
			return RS_OK;
	if (field == NULL)
		return RS_OK;
	rs_fail(RS_EUSAGE, "no table of '%s' belongs to a field '%s'", f->directory, field);
	return rs_hint("'inspect --tables' lists them; a shared table has the name of its first "
		"field");
}

static enum rs_status
print_parts(const struct arguments *a, const struct model_files *f)
{
	const char *field = argument(a, "--field");

	RS_TRY(check_field(f, field));
	if (argument(a, "--diff") != NULL)
		return model_diff_print(f, argument(a, "--diff"), field, command_json(a));
	if (argument(a, "--dump") != NULL)
		return dump_print(f, argument(a, "--dump"), field);
	if (argument_given(a, "--spec"))
		return print_spec(f);
	if (argument_given(a, "--ledger"))
		return inspect_ledger(f, command_json(a));
	if (command_json(a))
		return print_json(f, field);
	if (argument_given(a, "--params"))
		return print_params(f);
	if (argument_given(a, "--tables") || field != NULL)
		return print_tables(f, field);
	return print_summary(f);
}

static enum rs_status
inspect_run(const struct arguments *a)
{
	struct model_files f;

	if (a->n_positional != 1)
		return rs_fail(RS_EUSAGE, "inspect: wanted one MODEL, got %zu arguments",
			a->n_positional);
	RS_TRY(model_files_open(a->positional[0], &f));
	const enum rs_status status = print_parts(a, &f);
	model_files_close(&f);
	return status;
}

static const struct command_option inspect_option[] = {
	{ .name = "--spec", .text = "print the resolved spec the model was trained with" },
	{ .name = "--tables", .text = "print only the table of embedding tables" },
	{ .name = "--params", .text = "print only the dense parameters, with their norm and "
		"range" },
	{ .name = "--ledger", .text = "print what the model was trained on: period, file, bytes, "
		"what became of them, rows" },
	{ .name = "--dump", .argument = "FORMAT", .text =
		"print every weight and optimizer value exactly, in a "
		"fixed order: text, json or hexfloat" },
	{ .name = "--field", .argument = "F", .text = "only the tables of this field" },
	{ .name = "--diff", .argument = "MODEL2", .text = "print what differs from another model" },
	{ .name = NULL },
};

const struct command command_inspect = {
	.name = "inspect",
	.synopsis = "MODEL [--spec|--tables|--params|--ledger] [--dump FORMAT] [--diff MODEL2] "
		"[--field F]",
	.text = "Show what is in a model.",
	.option = inspect_option,
	.run = inspect_run,
};
