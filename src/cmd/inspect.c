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
#include "cmd/inspect_collisions.h"
#include "cmd/inspect_feature.h"
#include "cmd/inspect_ledger.h"
#include "cmd/inspect_names.h"
#include "cmd/inspect_tables.h"
#include "cmd/layout.h"
#include "cmd/model_diff.h"
#include "cmd/model_files.h"

#define TEXT_LIMIT ((size_t)64 << 20)

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
		n += model_table_count(&f->table[i]) * f->table[i].header->dim;
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
	return inspect_tables(f, NULL);
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
	RS_TRY(inspect_tables_json(j, f, field));
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
	if (argument(a, "--feature") != NULL)
		return inspect_feature(f, argument(a, "--feature"), command_json(a));
	if (argument_given(a, "--collisions"))
		return inspect_collisions(a, f, field);
	if (argument_given(a, "--names"))
		return inspect_names(a, f, field);
	if (argument_given(a, "--spec"))
		return print_spec(f);
	if (argument_given(a, "--ledger"))
		return inspect_ledger(f, command_json(a));
	if (command_json(a))
		return print_json(f, field);
	if (argument_given(a, "--params"))
		return print_params(f);
	if (argument_given(a, "--tables") || field != NULL)
		return inspect_tables(f, field);
	return print_summary(f);
}

static enum rs_status
inspect_run(const struct arguments *a)
{
	struct model_files f;

	const int reads_data = argument_given(a, "--collisions") || argument_given(a, "--names");

	if (a->n_positional != 1 && !(reads_data && a->n_positional > 1)) {
		(void)rs_fail(RS_EUSAGE, "inspect: wanted one MODEL, got %zu",
			a->n_positional);
		return a->n_positional < 2 ? RS_EUSAGE
			: rs_hint("data are named with --collisions and --names only");
	}
	RS_TRY(model_files_open(a->positional[0], &f));
	const enum rs_status status = print_parts(a, &f);
	model_files_close(&f);
	return status;
}

static const struct command_option inspect_option[] = {
	{ .name = "--spec", .text = "print the resolved spec the model was trained with" },
	{ .name = "--tables", .text = "print only the table of embedding tables; with --field "
		"also their longest rows" },
	{ .name = "--params", .text = "print only the dense parameters, with their norm and "
		"range" },
	{ .name = "--ledger", .text = "print what the model was trained on: period, file, bytes, "
		"what became of them, rows" },
	{ .name = "--dump", .argument = "FORMAT", .text =
		"print every weight and optimizer value exactly, in a "
		"fixed order: text, json or hexfloat" },
	{ .name = "--feature", .argument = "F=VALUE", .text = "print the bucket of a value of "
		"field F and the rows it reads: weights, optimizer values, whether trained" },
	{ .name = "--collisions", .text = "print how many values of the data share a bucket, "
		"and how many would by chance" },
	{ .name = "--names", .text = "print which values of the data are behind the trained "
		"buckets, and how many of these are known" },
	{ .name = "--field", .argument = "F", .text = "only the tables of this field" },
	{ .name = "--diff", .argument = "MODEL2", .text = "print what differs from another model" },
	{ .name = NULL },
};

const struct command command_inspect = {
	.name = "inspect",
	.synopsis = "MODEL [--spec|--tables|--params|--ledger] [--dump FORMAT|--diff MODEL2] "
		"[--feature F=VALUE] [--collisions|--names [DATA...]] [--field F]",
	.text = "Show what is in a model.",
	.option = inspect_option,
	.run = inspect_run,
};
