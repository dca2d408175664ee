/* The progress display of train. */
#include "config.h"

#include "cmd/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/number.h"

#define LINE_LIMIT ((size_t)1 << 20)

/* --- options ----------------------------------------------------------------- */

static enum rs_status
parse_step(struct progress *p, const char *text)
{
	double value;

	if (!number_double(text, strlen(text), &value) || value <= 0)
		return rs_fail(RS_EUSAGE,
			"-P '%s': wanted rows, a factor such as 2.0, none, kv or json", text);
	p->multiplies = strchr(text, '.') != NULL;
	if (p->multiplies && value <= 1)
		return rs_fail(RS_EUSAGE, "-P '%s': a factor must be above 1", text);
	p->form = PROGRESS_TABLE;
	p->step = value;
	return RS_OK;
}

enum rs_status
progress_init(struct progress *p, const struct arguments *a)
{
	const char *const text = argument(a, "--progress");
	int64_t fd = 2;

	*p = (struct progress){ .step = 2, .multiplies = 1, .json = command_json(a) };
	RS_TRY(argument_int(a, "--progress-fd", 0, 1 << 20, &fd));
	p->fd = (int)fd;
	if (text == NULL) {
		p->form = argument_given(a, "--quiet") ? PROGRESS_NONE
			: isatty(2) ? PROGRESS_TABLE
			: argument_given(a, "--verbose") ? PROGRESS_TEXT : PROGRESS_NONE;
		return RS_OK;
	}
	if (strcmp(text, "kv") == 0)
		p->form = PROGRESS_KV;
	else if (strcmp(text, "json") == 0)
		p->form = PROGRESS_JSON;
	else if (strcmp(text, "none") != 0)
		return parse_step(p, text);
	if (p->form == PROGRESS_NONE)
		p->step = 0;
	return RS_OK;
}

int
progress_is_text(const struct progress *p)
{
	return p->form == PROGRESS_TABLE || p->form == PROGRESS_TEXT;
}

/* --- texts ------------------------------------------------------------------- */

enum { CELL = 40 };

/* 1,234,567 */
static char *
grouped(char out[CELL], uint64_t value)
{
	char digits[24];
	const int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static char *
fixed(char out[CELL], int decimals, double value)
{
	if (isnan(value))
		snprintf(out, CELL, "n.a.");
	else
		snprintf(out, CELL, "%.*f", decimals, value);
	return out;
}

static char *
rate_text(char out[CELL], double rate)
{
	snprintf(out, CELL, rate >= 0.001 ? "%.4f" : "%.1e", rate);
	return out;
}

static char *
speed_text(char out[CELL], double speed)
{
	if (isnan(speed))
		snprintf(out, CELL, "-");
	else if (speed < 10000)
		snprintf(out, CELL, "%.0f", speed);
	else if (speed < 1e7)
		snprintf(out, CELL, "%.0fk", speed / 1e3);
	else
		snprintf(out, CELL, "%.0fM", speed / 1e6);
	return out;
}

static char *
eta_text(char out[CELL], double seconds)
{
	if (!isfinite(seconds) || seconds > 360000)
		snprintf(out, CELL, "-");
	else if (seconds >= 3600)
		snprintf(out, CELL, "%dh%02d", (int)seconds / 3600, (int)seconds / 60 % 60);
	else
		snprintf(out, CELL, "%d:%02d", (int)seconds / 60, (int)seconds % 60);
	return out;
}

static char *
bytes_text(char out[CELL], uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t u = 0;

	while (value >= 1024 && u + 1 < sizeof unit / sizeof *unit) {
		value /= 1024;
		u++;
	}
	snprintf(out, CELL, value < 10 && u > 0 ? "%.1f %s" : "%.0f %s", value, unit[u]);
	return out;
}

/* --- machine forms ------------------------------------------------------------ */

static void
write_fd(int fd, const char *text, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, text, n);
		if (done <= 0)
			return;                /* a progress reader that went away        */
		text += done;
		n -= (size_t)done;
	}
}

static void
emit_line(const struct progress *p, struct json *j)
{
	json_close(j);
	const char *const text = json_text(j);
	if (p->form == PROGRESS_JSON) {
		write_fd(p->fd, text, strlen(text));
		write_fd(p->fd, "\n", 1);
	}
	if (p->json && output_printf("%s\n", text) == RS_OK)
		output_flush();
	json_free(j);
}

static void
begin_line(const struct progress *p, struct json *j, const char *type)
{
	json_init(j);
	json_open(j, NULL, '{');
	json_string(j, "message_type", type);
	json_string(j, "run", p->run);
}

static int
wants_lines(const struct progress *p)
{
	return p->json || p->form == PROGRESS_JSON;
}

int
progress_has_rows(const struct progress *p)
{
	return p->json || (p->form != PROGRESS_NONE && p->form != PROGRESS_TEXT);
}

static void
json_row(const struct progress *p, const struct train_progress *r)
{
	struct json j;

	begin_line(p, &j, "progress");
	json_int(&j, "epoch", (int64_t)r->epoch);
	json_int(&j, "row", (int64_t)r->rows);
	json_int(&j, "total_rows", (int64_t)r->total_rows);
	json_int(&j, "step", (int64_t)r->step);
	json_double(&j, "loss", r->loss);
	json_double(&j, "loss_since_last", r->loss_since_last);
	json_double(&j, "label_mean", r->label_mean);
	json_double(&j, "prediction_mean", r->prediction_mean);
	json_double(&j, "learning_rate", r->learning_rate);
	json_double(&j, "rows_per_s", r->rows_per_s);
	json_double(&j, "wait_share", r->wait_share);
	json_double(&j, "eta_s", r->eta_s);
	emit_line(p, &j);
}

static void
kv_row(const struct progress *p, const struct train_progress *r)
{
	struct buffer text;
	char a[32], b[32], c[32], d[32];

	buffer_init(&text, LINE_LIMIT);
	const enum rs_status status = buffer_printf(&text, "run=%s\nepoch=%" PRIu64 "\nrow=%" PRIu64
		"\ntotal_rows=%" PRIu64 "\nstep=%" PRIu64
			"\nloss=%s\nloss_since_last=%s\nlearning_rate=%s\n"
		"rows_per_s=%s\nprogress=continue\n", p->run, r->epoch, r->rows, r->total_rows,
			r->step,
		number_print_double(a, r->loss), number_print_double(b, r->loss_since_last),
		number_print_double(c, r->learning_rate), number_print_double(d, r->rows_per_s));
	if (status == RS_OK)
		write_fd(p->fd, text.data, text.n);
	buffer_free(&text);
}

/* --- the table ------------------------------------------------------------------ */

void
progress_start(struct progress *p, const struct progress_start *start)
{
	struct json j;

	if (progress_is_text(p))
		fprintf(stderr,
			"recsys-train %s  run %s  %s  seed %" PRId64 "  threads %" PRId64
				"%s%s%s\n",
			PACKAGE_VERSION, p->run, start->model, start->seed, start->threads,
			start->why_threads ? " (" : "", start->why_threads ? start->why_threads
				: "",
			start->why_threads ? ")" : "");
	if (progress_is_text(p) && start->why_device != NULL)
		fprintf(stderr, "on the %s: %s\n",
			strcmp(start->device, "cpu") == 0 ? "CPU" : "GPU", start->why_device);
	if (progress_is_text(p) && start->why_tables[0] != '\0')
		fprintf(stderr, "tables on the %s: %s\n",
			strcmp(start->tables, "gpu") == 0 ? "GPU" : "host", start->why_tables);
	if (!wants_lines(p))
		return;
	begin_line(p, &j, "start");
	json_string(&j, "model", start->model);
	json_int(&j, "seed", start->seed);
	json_int(&j, "threads", start->threads);
	json_string(&j, "threads_reason", start->why_threads);
	json_string(&j, "device", start->device);
	json_string(&j, "device_reason", start->why_device);
	json_string(&j, "tables", start->tables);
	json_string(&j, "tables_reason", start->why_tables[0] != '\0' ? start->why_tables : NULL);
	emit_line(p, &j);
}

static void
table_row(struct progress *p, const struct train_progress *r)
{
	char loss[CELL], last[CELL], row[CELL], label[CELL], mean[CELL], rate[CELL], speed[CELL],
		eta[CELL];

	if (!p->header_done) {
		fprintf(stderr,
			" average     since         row   label    mean   learning"
			"   rows/s  wait   eta\n"
			" loss        last      counter    mean    pred       rate"
			"              %%\n");
		p->header_done = 1;
	}
	fprintf(stderr, "%s  %s%12s%8s%8s%11s%9s%6.0f%6s\n", fixed(loss, 6, r->loss),
		fixed(last, 6, r->loss_since_last), grouped(row, r->rows),
			fixed(label, 4, r->label_mean),
		fixed(mean, 4, r->prediction_mean), rate_text(rate, r->learning_rate),
		speed_text(speed, r->rows_per_s), 100 * r->wait_share, eta_text(eta, r->eta_s));
}

void
progress_row(struct progress *p, const struct train_progress *row)
{
	if (p->form == PROGRESS_TABLE)
		table_row(p, row);
	if (p->form == PROGRESS_KV)
		kv_row(p, row);
	if (wants_lines(p))
		json_row(p, row);
}

/* The loss comes first, next to that of the best constant. */
static void
table_figures(const struct metric_result *m)
{
	const size_t loss = figure_find(&m->figures, "logloss");
	char a[CELL];

	if (loss < m->figures.n)
		fprintf(stderr, "   logloss %s", fixed(a, 4, m->value[loss]));
	for (size_t i = 0; i < m->figures.n; i++)
		if (i != loss)
			fprintf(stderr, "   %s %s", m->figures.item[i].name,
				fixed(a, 4, m->value[i]));
}

static int
has_row_figure(const struct metric_result *m)
{
	int has = 0;

	for (size_t i = 0; i < m->figures.n; i++)
		has |= !figure_needs_groups(&m->figures.item[i]);
	return has;
}

static void
table_epoch(const struct train_epoch *e)
{
	char a[CELL], b[CELL], c[CELL];
	char best[CELL + 16] = "";

	fprintf(stderr, "epoch %" PRIu64 "/%" PRIu64 "   %s rows, %s skipped   loss %s\n",
		e->epoch, e->epochs,
		grouped(a, e->rows), grouped(b, e->skipped), fixed(c, 4, e->loss));
	if (!e->has_valid)
		return;
	if (e->is_best && !isnan(e->best))
		snprintf(best, sizeof best, "   best (was %s)", fixed(a, 4, e->best));
	else if (e->is_best)
		snprintf(best, sizeof best, "   best");
	else
		snprintf(best, sizeof best, "   (best is %s)", fixed(a, 4, e->best));
	fprintf(stderr, "            valid %s rows", grouped(b, e->valid.rows));
	table_figures(&e->valid);
	fprintf(stderr, "%s\n", best);
	if (e->valid.groups > 0)
		fprintf(stderr, "            groups %s, %s of them left out\n",
			grouped(a, e->valid.groups), grouped(b, e->valid.groups_left_out));
	if (has_row_figure(&e->valid))
		fprintf(stderr, "            best constant %s, its loss %s\n",
			fixed(a, 4, e->valid.best_constant),
			fixed(b, 4, e->valid.best_constant_loss));
}

static void
json_figures(struct json *j, const char *name, const struct metric_result *m)
{
	json_open(j, name, '{');
	json_int(j, "rows", (int64_t)m->rows);
	json_double(j, "auc", m->auc);
	json_double(j, "logloss", m->logloss);
	json_double(j, "mse", m->mse);
	json_double(j, "calibration", m->calibration);
	json_double(j, "best_constant", m->best_constant);
	json_double(j, "best_constant_loss", m->best_constant_loss);
	for (size_t i = 0; i < m->figures.n; i++)
		if (figure_needs_groups(&m->figures.item[i]))
			json_double(j, m->figures.item[i].name, m->value[i]);
	if (m->groups > 0) {
		json_int(j, "groups", (int64_t)m->groups);
		json_int(j, "groups_left_out", (int64_t)m->groups_left_out);
	}
	json_close(j);
}

void
progress_epoch(struct progress *p, const struct train_epoch *e)
{
	struct json j;

	if (progress_is_text(p))
		table_epoch(e);
	if (!wants_lines(p))
		return;
	begin_line(p, &j, "epoch");
	json_int(&j, "epoch", (int64_t)e->epoch);
	json_int(&j, "epochs", (int64_t)e->epochs);
	json_int(&j, "rows", (int64_t)e->rows);
	json_int(&j, "skipped", (int64_t)e->skipped);
	json_double(&j, "loss", e->loss);
	json_double(&j, "seconds", e->seconds);
	json_double(&j, "learning_rate", e->learning_rate);
	if (e->has_valid) {
		json_bool(&j, "best", e->is_best);
		json_figures(&j, "valid", &e->valid);
	}
	emit_line(p, &j);
}

void
progress_saved(struct progress *p, const char *directory, uint64_t version, uint64_t bytes)
{
	char size[CELL];

	if (progress_is_text(p))
		fprintf(stderr, "saved       %s/v%06" PRIu64 "   %s\n", directory, version,
			bytes_text(size, bytes));
}

void
progress_scored(struct progress *p, const char *period, const struct metric_result *m)
{
	char rows[CELL], a[CELL], b[CELL], c[CELL];
	struct json j;

	if (progress_is_text(p) && m->rows > 0) {
		fprintf(stderr, "period      %s   %s rows predicted   logloss %s   auc %s"
			"   calibration %s\n", period, grouped(rows, m->rows),
			fixed(a, 4, m->logloss), fixed(b, 4, m->auc), fixed(c, 3, m->calibration));
	} else if (progress_is_text(p)) {
		fprintf(stderr, "period      %s\n", period);
	}
	if (!wants_lines(p))
		return;
	begin_line(p, &j, "period");
	json_string(&j, "period", period);
	if (m->rows > 0)
		json_figures(&j, "progressive", m);
	emit_line(p, &j);
}

void
progress_gate(struct progress *p, int is_accepted, const char *verdict)
{
	const char *const word = is_accepted ? "accepted" : "rejected";
	struct json j;

	if (progress_is_text(p))
		fprintf(stderr, "gate        %s: %s\n", word, verdict);
	if (!wants_lines(p))
		return;
	begin_line(p, &j, "gate");
	json_string(&j, "gate", word);
	json_string(&j, "text", verdict);
	emit_line(p, &j);
}

void
progress_warning(struct progress *p, const char *text)
{
	struct json j;

	if (!wants_lines(p))
		return;
	begin_line(p, &j, "warning");
	json_string(&j, "text", text);
	emit_line(p, &j);
}

/* --- the end ---------------------------------------------------------------------- */

static void
table_tenants(const struct lookup_tenants *n)
{
	char rows[CELL], in[CELL], wait[CELL], out[CELL], gone[CELL], old[CELL];

	fprintf(stderr, "exact       %s rows   %s admitted   %s waiting   %s refused   "
		"%s evicted   %s expired\n", grouped(rows, n->rows), grouped(in, n->admitted),
		grouped(wait, n->waiting), grouped(out, n->refused), grouped(gone, n->evicted),
		grouped(old, n->expired));
}

static void
json_tenants(struct json *j, const struct lookup_tenants *n)
{
	json_open(j, "exact", '{');
	json_int(j, "rows", (int64_t)n->rows);
	json_int(j, "admitted", (int64_t)n->admitted);
	json_int(j, "waiting", (int64_t)n->waiting);
	json_int(j, "refused", (int64_t)n->refused);
	json_int(j, "evicted", (int64_t)n->evicted);
	json_int(j, "expired", (int64_t)n->expired);
	json_close(j);
}

static void
table_end(const struct progress *p, const struct progress_end *end)
{
	const struct train_summary *const s = end->summary;
	char rows[CELL];

	if (s->n_exact > 0)
		table_tenants(&s->tenants);
	fprintf(stderr, "run %s   %s in %.1f s, %s rows skipped%s%s\n", p->run, end->status,
		s->seconds,
		grouped(rows, s->rows_skipped), s->stopped_early ? ", stopped early" : "",
		s->out_of_time ? ", out of time" : "");
}

static enum rs_status
json_end(const struct progress *p, const struct progress_end *end)
{
	const struct train_summary *const s = end->summary;
	struct json j;
	char version[40];

	begin_line(p, &j, "summary");
	json_string(&j, "status", end->status);
	json_int(&j, "rows", (int64_t)s->rows_trained);
	json_double(&j, "seconds", s->seconds);
	if (s->has_valid)
		json_figures(&j, "valid", &s->valid);
	struct buffer model;
	buffer_init(&model, LINE_LIMIT);
	snprintf(version, sizeof version, "/v%06" PRIu64 "%s", s->version,
		strcmp(end->status, "rejected") == 0 ? ".rejected" : "");
	enum rs_status status = buffer_printf(&model, "%s%s", end->directory, version);
	json_string(&j, "model", status == RS_OK && s->version > 0 ? model.data : NULL);
	buffer_free(&model);
	json_int(&j, "rows_read", (int64_t)s->rows_read);
	json_int(&j, "rows_skipped", (int64_t)s->rows_skipped);
	json_int(&j, "rows_zero_weight", (int64_t)s->rows_zero_weight);
	json_int(&j, "epochs", (int64_t)s->epochs_done);
	json_int(&j, "best_epoch", (int64_t)s->best_epoch);
	json_int(&j, "step", (int64_t)s->step);
	json_int(&j, "skipped_steps", (int64_t)s->skipped_steps);
	json_double(&j, "loss", s->loss);
	if (s->n_exact > 0)
		json_tenants(&j, &s->tenants);
	emit_line(p, &j);
	return status;
}

enum rs_status
progress_end(struct progress *p, const struct progress_end *end)
{
	if (progress_is_text(p))
		table_end(p, end);
	if (p->form == PROGRESS_KV)
		write_fd(p->fd, "progress=end\n", strlen("progress=end\n"));
	return wants_lines(p) ? json_end(p, end) : RS_OK;
}
