/* Figures for the textfile collector of Prometheus. */
#include "cmd/textfile.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#define TEXT_LIMIT ((size_t)1 << 20)

enum metric_type { GAUGE, COUNTER };

static const struct metric_row {
	const char *name;
	enum metric_type type;
	size_t offset;
	const char *help;
} metric_table[] = {
#define ROW(name, type, member, help) \
	{ "recsys_train_" name, type, offsetof(struct textfile_figures, member), help },
	ROW("last_exit_code", GAUGE, exit_code, "Exit code of the last run.")
	ROW("last_run_timestamp_seconds", GAUGE, ended, "When the last run ended.")
	ROW("run_duration_seconds", GAUGE, duration, "How long the last run took.")
	ROW("periods_waiting", GAUGE, waiting, "Periods that are known and not trained.")
	ROW("model_version", GAUGE, version, "Version that is current.")
	ROW("model_period_end_timestamp_seconds", GAUGE, period_end,
		"End of the newest period in the current version.")
	ROW("period_rows", GAUGE, period_rows, "Rows of the last period trained.")
	ROW("progressive_auc", GAUGE, auc,
		"AUC of the last period, scored before it was trained.")
	ROW("progressive_logloss", GAUGE, logloss,
		"Logloss of the last period, scored before it was trained.")
	ROW("progressive_calibration", GAUGE, calibration,
		"Mean prediction over mean label of the last period, before it was trained.")
	ROW("rows_total", COUNTER, rows, "Rows read in training.")
	ROW("periods_total", COUNTER, periods, "Periods trained, also those rejected.")
	ROW("rejected_total", COUNTER, rejected, "Candidates that the gate refused.")
#undef ROW
};
enum { N_METRICS = sizeof metric_table / sizeof *metric_table };

static const char *const type_name[] = { [GAUGE] = "gauge", [COUNTER] = "counter" };

void
textfile_init(struct textfile_figures *f, const char *directory)
{
	*f = (struct textfile_figures){
		.directory = directory, .exit_code = NAN, .ended = NAN, .duration = NAN,
		.waiting = NAN, .version = NAN, .period_end = NAN, .period_rows = NAN, .auc = NAN,
		.logloss = NAN, .calibration = NAN,
	};
}

/* {model="NAME"}: the last part of the directory. */
static enum rs_status
print_label(const char *directory, struct buffer *out)
{
	size_t end = strlen(directory), begin;

	while (end > 1 && directory[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && directory[begin - 1] != '/'; )
		begin--;
	RS_TRY(buffer_printf(out, "{model=\""));
	for (size_t i = begin; i < end; i++) {
		const char c = directory[i];

		if (c == '\n')
			RS_TRY(buffer_printf(out, "\\n"));
		else
			RS_TRY(buffer_printf(out, "%s%c", c == '"' || c == '\\' ? "\\" : "", c));
	}
	return buffer_printf(out, "\"}");
}

/* What the text says of the metric, NaN for nothing. */
static double
former_value(const char *text, const struct metric_row *m, const char *label)
{
	const size_t n_name = strlen(m->name), n_label = strlen(label);
	double value;

	for (const char *line = text; line != NULL && *line != '\0'; ) {
		const size_t n = strcspn(line, "\n");

		if (n > n_name + n_label + 1 && strncmp(line, m->name, n_name) == 0
		    && strncmp(line + n_name, label, n_label) == 0
		    && line[n_name + n_label] == ' '
		    && number_double(line + n_name + n_label + 1, n - n_name - n_label - 1, &value))
			return value;
		line += n + (line[n] == '\n');
	}
	return NAN;
}

static enum rs_status
print_metric(const struct metric_row *m, const struct textfile_figures *f, const char *former,
	const char *label, struct buffer *out)
{
	double value = *(const double *)(const void *)((const char *)f + m->offset);
	const double before = former_value(former, m, label);
	char text[32];

	if (m->type == COUNTER && before >= 0)
		value += before;
	else if (isnan(value))
		value = before;
	if (!isfinite(value))
		return RS_OK;
	return buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s%s %s\n", m->name, m->help,
		m->name, type_name[m->type], m->name, label, number_print_double(text, value));
}

static enum rs_status
print_all(const struct textfile_figures *f, const char *former, struct buffer *out)
{
	struct buffer label;

	buffer_init(&label, TEXT_LIMIT);
	enum rs_status status = print_label(f->directory, &label);
	for (size_t i = 0; status == RS_OK && i < N_METRICS; i++)
		status = print_metric(&metric_table[i], f, former, label.data, out);
	buffer_free(&label);
	return status;
}

/* By way of a name that the collector does not look at. */
static enum rs_status
replace(const char *path, const struct buffer *text)
{
	char *aside;

	if (asprintf(&aside, "%s.new", path) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory: a name is wanted");
	enum rs_status status = file_replace(aside, text->data, text->n);
	if (status == RS_OK && rename(aside, path) != 0) {
		status = rs_fail(RS_EIO, "cannot rename '%s' to '%s': %s", aside, path,
			strerror(errno));
		remove(aside);
	}
	free(aside);
	return status;
}

enum rs_status
textfile_write(const char *path, const struct textfile_figures *f)
{
	struct buffer text;
	char *former = NULL;
	size_t n;

	RS_TRY(file_may_replace(path));         /* to read a pipe would wait for who fills it  */
	if (file_read(path, TEXT_LIMIT, &former, &n) != RS_OK)
		former = NULL;
	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = print_all(f, former, &text);
	if (status == RS_OK)
		status = replace(path, &text);
	buffer_free(&text);
	free(former);
	return status;
}
