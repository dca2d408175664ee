/* Files of a job over a period: "KEY LENGTH", then so many bytes and a newline. */
#include "cmd/job_period.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define TEXT_LIMIT ((size_t)1 << 30)

/* --- pieces ---------------------------------------------------------------------------- */

struct piece { char key[16]; const char *text; size_t n; };

static enum rs_status
put(struct buffer *out, const char *key, const char *text, size_t n)
{
	RS_TRY(buffer_printf(out, "%s %zu\n", key, n));
	RS_TRY(buffer_append(out, text, n));
	return buffer_printf(out, "\n");
}

static enum rs_status
put_number(struct buffer *out, const char *key, int64_t x)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRId64, x);
	return put(out, key, text, strlen(text));
}

static enum rs_status
fail_piece(const char *what)
{
	return rs_fail(RS_EPROTOCOL, "the file of a period makes no sense: %s", what);
}

/* The next of the text; *at moves behind it. */
static enum rs_status
take(const char **at, const char *end, struct piece *out)
{
	const char *const line = memchr(*at, '\n', (size_t)(end - *at));
	char head[48] = "";

	if (line == NULL || (size_t)(line - *at) >= sizeof head)
		return fail_piece("no line");
	memcpy(head, *at, (size_t)(line - *at));
	if (sscanf(head, "%15s %zu", out->key, &out->n) != 2
	    || out->n >= (size_t)(end - line) - 1 || line[1 + out->n] != '\n')
		return fail_piece(head);
	out->text = line + 1;
	*at = out->text + out->n + 1;
	return RS_OK;
}

/* --- the period --------------------------------------------------------------------------- */

static enum rs_status
put_names(struct buffer *out, const char *key, const struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		RS_TRY(put(out, key, list->item[i], strlen(list->item[i])));
	return RS_OK;
}

enum rs_status
job_period_print(const struct job_period *p, struct buffer *out)
{
	struct buffer ledger;

	RS_TRY(put_number(out, "begin", p->begin));
	RS_TRY(put_number(out, "epochs", (int64_t)p->epochs));
	RS_TRY(put_number(out, "first", (int64_t)p->first));
	RS_TRY(put_names(out, "file", &p->files));
	RS_TRY(put_names(out, "held", &p->held));
	for (size_t i = 0; i < p->n_conditions; i++)
		RS_TRY(put(out, "condition", p->condition[i], strlen(p->condition[i])));
	if (p->history != NULL)
		RS_TRY(put(out, "history", p->history, strlen(p->history)));
	buffer_init(&ledger, TEXT_LIMIT);
	enum rs_status status = ledger_print(&p->ledger, &ledger);
	if (status == RS_OK)
		status = put(out, "ledger", ledger.data, ledger.n);
	buffer_free(&ledger);
	return status;
}

static enum rs_status
copy_text(const struct piece *piece, char **out)
{
	RS_TRY(memory_alloc(piece->n + 1, 1, out));
	memcpy(*out, piece->text, piece->n);
	return RS_OK;
}

static enum rs_status
add_text(char ***item, size_t *n, const struct piece *piece)
{
	char **const grown = realloc(*item, (*n + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	*item = grown;
	RS_TRY(copy_text(piece, &grown[*n]));
	++*n;
	return RS_OK;
}

static enum rs_status
take_piece(struct job_period *p, const struct piece *piece)
{
	if (strcmp(piece->key, "begin") == 0)
		p->begin = strtoll(piece->text, NULL, 10);
	else if (strcmp(piece->key, "epochs") == 0)
		p->epochs = strtoull(piece->text, NULL, 10);
	else if (strcmp(piece->key, "first") == 0)
		p->first = strtoull(piece->text, NULL, 10);
	else if (strcmp(piece->key, "file") == 0)
		return add_text(&p->files.item, &p->files.n, piece);
	else if (strcmp(piece->key, "held") == 0)
		return add_text(&p->held.item, &p->held.n, piece);
	else if (strcmp(piece->key, "condition") == 0)
		return add_text(&p->condition, &p->n_conditions, piece);
	else if (strcmp(piece->key, "ledger") == 0)
		return ledger_parse(piece->text, piece->n, "ledger of a period", &p->ledger);
	else if (strcmp(piece->key, "history") == 0 && p->history == NULL)
		return copy_text(piece, &p->history);
	else
		return fail_piece(piece->key);
	return RS_OK;
}

enum rs_status
job_period_parse(const char *text, size_t n, struct job_period *out)
{
	const char *at = text;
	struct piece piece;

	memset(out, 0, sizeof *out);
	ledger_init(&out->ledger);
	while (at < text + n) {
		RS_TRY(take(&at, text + n, &piece));
		RS_TRY(take_piece(out, &piece));
	}
	return out->files.n > 0 && out->epochs > 0 ? RS_OK : fail_piece("no files");
}

static void
free_texts(char **item, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(item[i]);
	free(item);
}

void
job_period_free(struct job_period *p)
{
	free_texts(p->files.item, p->files.n);
	free_texts(p->held.item, p->held.n);
	free_texts(p->condition, p->n_conditions);
	ledger_free(&p->ledger);
	free(p->history);
	memset(p, 0, sizeof *p);
}

/* --- the verdict ---------------------------------------------------------------------------- */

enum rs_status
job_verdict_write(const char *period, const struct job_verdict *v)
{
	const char *const slash = strrchr(period, '/');
	struct buffer text, path;

	buffer_init(&text, TEXT_LIMIT);
	buffer_init(&path, TEXT_LIMIT);
	enum rs_status status = buffer_printf(&path, "%.*s" JOB_VERDICT_FILE,
		slash != NULL ? (int)(slash + 1 - period) : 0, period);
	if (status == RS_OK)
		status = buffer_printf(&text, "%" PRIu64 " %d %.17g %.17g %.17g %.17g %.17g %s",
			v->version, v->is_refused, v->rows, v->period_rows, v->auc, v->logloss,
			v->calibration, v->text);
	if (status == RS_OK)
		status = file_replace(path.data, text.data, text.n);
	buffer_free(&path);
	buffer_free(&text);
	return status;
}

enum rs_status
job_verdict_read(const char *directory, struct job_verdict *out)
{
	char *path, *text = NULL;
	size_t n;
	int at = 0;

	memset(out, 0, sizeof *out);
	RS_TRY(file_join(directory, JOB_VERDICT_FILE, &path));
	enum rs_status status = access(path, F_OK) != 0
		? rs_fail(RS_ENOINPUT, "the job said nothing of its model")
		: file_read(path, TEXT_LIMIT, &text, &n);
	free(path);
	RS_TRY(status);
	if (sscanf(text, "%" SCNu64 " %d %lf %lf %lf %lf %lf %n", &out->version,
	    &out->is_refused, &out->rows, &out->period_rows, &out->auc, &out->logloss,
	    &out->calibration, &at) != 7)
		status = fail_piece(JOB_VERDICT_FILE);
	else
		status = memory_strdup(text + at, &out->text);
	free(text);
	return status;
}
