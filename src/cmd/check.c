/* `check`: every problem of a spec, where values come from, what the data is. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/check_data.h"
#include "cmd/command_spec.h"
#include "cmd/incremental_check.h"

enum { DATA_ROWS = 10000 };

#define LISTING_BYTES_MAX ((size_t)1 << 28)

static enum rs_status
print_origins(const struct spec *spec)
{
	struct buffer listing;
	enum rs_status status;

	buffer_init(&listing, LISTING_BYTES_MAX);
	status = spec_print(spec, 1, &listing);
	if (status == RS_OK)
		status = output_text(listing.data, listing.n);
	buffer_free(&listing);
	return status;
}

static enum rs_status
print_json(const struct spec *spec, const char *path, size_t errors, size_t warnings)
{
	struct json j;
	enum rs_status status;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "check");
	json_string(&j, "spec", path);
	json_bool(&j, "ok", errors == 0);
	json_int(&j, "errors", (int64_t)errors);
	json_int(&j, "warnings", (int64_t)warnings);
	json_open(&j, "problems", '[');
	for (size_t i = 0; i < spec_n_problems(spec); i++) {
		const struct spec_problem *p = spec_problem(spec, i);

		json_open(&j, NULL, '{');
		json_string(&j, "severity", p->is_error ? "error" : "warning");
		json_string(&j, "file", p->file);
		json_int(&j, "line", (int64_t)p->line);
		json_int(&j, "column", (int64_t)p->column);
		json_string(&j, "text", p->text);
		json_string(&j, "hint", p->hint);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status == RS_OK ? output_flush() : status;    /* also when the spec has errors */
}

/* Rows that --data asks for; 0: none, UINT64_MAX: all. */
static enum rs_status
data_rows(const struct arguments *a, uint64_t *out)
{
	const char *value = argument(a, "--data");
	int64_t rows = DATA_ROWS;

	*out = 0;
	if (value == NULL)
		return RS_OK;
	if (strcmp(value, "all") == 0) {
		*out = UINT64_MAX;
		return RS_OK;
	}
	if (*value != '\0')
		RS_TRY(argument_int(a, "--data", 1, INT64_MAX, &rows));
	*out = (uint64_t)rows;
	return RS_OK;
}

static enum rs_status
end_with_problems(const char *path, enum rs_status status, size_t errors, size_t warnings)
{
	return rs_fail_at(status, path, 0, 0, "%zu error%s, %zu warning%s", errors,
		errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

static enum rs_status
check_spec(const struct arguments *a, const struct spec *spec, const char *path, uint64_t rows)
{
	struct rs_failure failure = { .status = RS_OK };
	size_t errors, warnings;

	command_spec_count(spec, &errors, &warnings);
	command_spec_report(spec, path, SIZE_MAX);
	if (errors == 0 && incremental_check_spec(spec_settings(spec)) != RS_OK)
		rs_failure_take(&failure);
	if (command_json(a))
		RS_TRY(print_json(spec, path, errors + (failure.status != RS_OK), warnings));
	if (failure.status != RS_OK)
		return rs_failure_put(&failure);
	if (errors > 0)
		return end_with_problems(path, RS_ESPEC, errors, warnings);
	if (argument_given(a, "--show-origin"))
		RS_TRY(print_origins(spec));
	if (rows > 0)
		RS_TRY(check_data_report(spec, rows, command_json(a)));
	if (warnings > 0 && argument_given(a, "--strict"))
		return end_with_problems(path, RS_EUNMET, errors, warnings);
	if (command_json(a) || argument_given(a, "--show-origin"))
		return RS_OK;
	return output_printf("%s: OK\n", path);
}

static enum rs_status
check_positionals(const struct arguments *a)
{
	const char *more = a->n_positional > 1 ? a->positional[1] : NULL;
	const char *rows = argument(a, "--data");

	if (more == NULL)
		return RS_OK;
	rs_fail(RS_EUSAGE, "one spec is wanted, '%s' is one too many", more);
	if (rows == NULL || *rows != '\0')
		return RS_EUSAGE;
	if (strspn(more, "0123456789") != strlen(more))
		more = a->positional[0];
	return rs_hint("the number belongs to the option: --data=%s", more);
}

static enum rs_status
run_check(const struct arguments *a)
{
	const char *path = "";
	struct spec *spec;
	uint64_t rows;
	size_t used;
	enum rs_status status;

	RS_TRY(data_rows(a, &rows));
	RS_TRY(check_positionals(a));
	status = command_spec_read(a, NULL, 0, &spec, &used, &path);
	if (spec == NULL)
		return status;
	status = check_spec(a, spec, path, rows);
	spec_free(spec);
	return status;
}

static const struct command_option check_option[] = {
	{ .name = "--show-origin", .text = "Print every value with the place it comes from." },
	{ .name = "--data", .argument = "[N|all]",
	  .text = "Read N rows of the training data (by default 10000) and print what is in "
		"each field." },
	{ .name = "--strict", .text = "Exit with 1 when there are warnings." },
	{ .name = NULL },
};

const struct command command_check = {
	.name = "check",
	.alias = "configtest",
	.synopsis = "[SPEC] [--show-origin] [--data[=N|all]] [--strict]",
	.text = "Report every problem of a spec.",
	.option = check_option,
	.run = run_check,
};
