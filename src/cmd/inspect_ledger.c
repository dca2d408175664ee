/* What a model was trained on, for people and for programs. */
#include "cmd/inspect_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cmd/command.h"
#include "cmd/layout.h"
#include "train/intake.h"

/* "all", "0-97,5000-9000", or of many "0-.. 12 ranges ..-9000". */
static enum rs_status
ranges_cell(struct layout *l, const struct range_list *list)
{
	enum { SHOWN = 3 };
	struct buffer text;
	enum rs_status status = RS_OK;

	if (list->n == 0)
		return layout_cell(l, "all");
	if (list->n > SHOWN)
		return layout_cell(l, "%zu ranges of %" PRIu64 "-%" PRIu64, list->n,
			list->item[0].begin, list->item[list->n - 1].end);
	buffer_init(&text, 4096);
	for (size_t i = 0; i < list->n && status == RS_OK; i++) {
		const struct range *const r = &list->item[i];

		status = r->end == RANGE_END
			? buffer_printf(&text, "%s%" PRIu64 "-", i > 0 ? "," : "", r->begin)
			: buffer_printf(&text, "%s%" PRIu64 "-%" PRIu64, i > 0 ? "," : "",
				r->begin, r->end);
	}
	if (status == RS_OK)
		status = layout_cell(l, "%s", text.data);
	buffer_free(&text);
	return status;
}

static const char *
period_text(const struct ledger_entry *e, char out[24])
{
	return e->period == LEDGER_NO_PERIOD ? "-" : intake_time(e->period, out);
}

static enum rs_status
fill_table(struct layout *l, const struct ledger *ledger)
{
	static const char *const heading[] = { "period", "file", "bytes", "use", "rows", "skipped",
		"late" };
	char text[32];

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < ledger->n; i++) {
		const struct ledger_entry *const e = &ledger->entry[i];

		RS_TRY(layout_cell(l, "%s", period_text(e, text)));
		RS_TRY(layout_cell(l, "%s", e->path));
		RS_TRY(ranges_cell(l, &e->ranges));
		RS_TRY(layout_cell(l, "%s", ledger_use_name(e->use)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)e->rows)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)e->skipped)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)e->late)));
	}
	return RS_OK;
}

static enum rs_status
print_table(const struct ledger *ledger)
{
	enum { RIGHT = 1 << 4 | 1 << 5 | 1 << 6 };
	struct layout l;
	char mark[24];

	if (ledger->n == 0)
		return output_printf("the model has no ledger\n");
	if (ledger->mark != LEDGER_NO_PERIOD)
		RS_TRY(output_printf("data through %s\n\n", intake_time(ledger->mark, mark)));
	layout_init(&l, 7, RIGHT);
	enum rs_status status = fill_table(&l, ledger);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static void
json_entry(struct json *j, const struct ledger_entry *e)
{
	char text[24];

	json_open(j, NULL, '{');
	if (e->period != LEDGER_NO_PERIOD)
		json_string(j, "period", intake_time(e->period, text));
	json_string(j, "file", e->path);
	json_open(j, "ranges", '[');
	for (size_t i = 0; i < e->ranges.n; i++) {
		json_open(j, NULL, '[');
		json_int(j, NULL, (int64_t)e->ranges.item[i].begin);
		if (e->ranges.item[i].end != RANGE_END)
			json_int(j, NULL, (int64_t)e->ranges.item[i].end);
		json_close(j);
	}
	json_close(j);
	json_string(j, "use", ledger_use_name(e->use));
	json_int(j, "rows", (int64_t)e->rows);
	json_int(j, "skipped", (int64_t)e->skipped);
	json_int(j, "late", (int64_t)e->late);
	json_close(j);
}

static enum rs_status
print_json(const struct ledger *ledger)
{
	struct json j;
	char mark[24];

	json_init(&j);
	json_open(&j, NULL, '{');
	if (ledger->mark != LEDGER_NO_PERIOD)
		json_string(&j, "mark", intake_time(ledger->mark, mark));
	json_open(&j, "ledger", '[');
	for (size_t i = 0; i < ledger->n; i++)
		json_entry(&j, &ledger->entry[i]);
	json_close(&j);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

enum rs_status
inspect_ledger(const struct model_files *f, int as_json)
{
	struct ledger ledger;
	char *path;

	RS_TRY(file_join(f->path, LEDGER_FILE, &path));
	enum rs_status status = ledger_read_file(path, &ledger);
	free(path);
	RS_TRY(status);
	status = as_json ? print_json(&ledger) : print_table(&ledger);
	ledger_free(&ledger);
	return status;
}
