/* runs report: a run as one page of HTML that needs nothing else. */
#include "cmd/runs_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/layout.h"
#include "cmd/runs.h"

#define PAGE_BYTES ((size_t)256 << 20)

static const char page_style[] =
	"<style>\n"
	":root{color-scheme:light dark}\n"
	"body{font:16px/1.45 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:1rem}\n"
	"h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .4em}\n"
	".figures,.curves{display:grid;gap:.8rem;"
	"grid-template-columns:repeat(auto-fit,minmax(9rem,1fr))}\n"
	".curves{grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr))}\n"
	".figures div{border:1px solid #8886;border-radius:.4rem;padding:.5rem .7rem}\n"
	".figures b{display:block;font-size:1.2rem;overflow-wrap:anywhere}\n"
	"figure{margin:0}figcaption{font-weight:600}svg{width:100%;height:auto}\n"
	"svg text{font-size:11px;fill:currentColor}svg .g{stroke:#8885}\n"
	"svg path{fill:none;stroke:#2a78d6;stroke-width:2}svg circle{fill:#2a78d6}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\n"
	"th,td{border-bottom:1px solid #8886;padding:.25rem .6rem;text-align:left;"
	"vertical-align:top}\n"
	"td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
	"pre{overflow-x:auto;border:1px solid #8886;border-radius:.4rem;padding:.7rem;"
	"font-size:.85rem}\n"
	"p,code{overflow-wrap:anywhere}\n"
	"@page{margin:14mm}\n"
	"@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:10pt}\n"
	"h1{font-size:15pt}h2{font-size:12pt;margin:1em 0 .3em}p{margin:.25em 0}\n"
	".figures{grid-template-columns:repeat(6,1fr);gap:2mm}.figures b{font-size:11pt}\n"
	".curves{grid-template-columns:1fr 1fr;gap:2mm 6mm}svg{max-height:44mm}\n"
	".wide,pre{overflow:visible}table{font-size:7pt}th,td{padding:.5mm 1mm}\n"
	"td{overflow-wrap:anywhere}td.n{overflow-wrap:normal}\n"
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;columns:2;"
	"font-size:8pt;border:0;padding:0}\n"
	"figure,tr,.figures div{break-inside:avoid}h1,h2{break-after:avoid}p{orphans:3;widows:3}}\n"
	"</style>\n";

/* --- text ------------------------------------------------------------------------------ */

static enum rs_status
put_heading(struct buffer *out, const struct store_run *run)
{
	RS_TRY(buffer_printf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
		"content=\"width=device-width, initial-scale=1\">\n<title>"));
	RS_TRY(runs_report_text(out, run->name));
	RS_TRY(buffer_printf(out, " "));
	RS_TRY(runs_report_text(out, run->model));
	RS_TRY(buffer_printf(out, "</title>\n%s</head><body>\n<h1>Run ", page_style));
	RS_TRY(runs_report_text(out, run->name));
	RS_TRY(buffer_printf(out, ": "));
	RS_TRY(runs_report_text(out, run->status));
	return buffer_printf(out, "</h1>\n");
}

static enum rs_status
put_line(struct buffer *out, const char *name, const char *text)
{
	if (text[0] == '\0')
		return RS_OK;
	RS_TRY(buffer_printf(out, "<p>%s: <code>", name));
	RS_TRY(runs_report_text(out, text));
	return buffer_printf(out, "</code></p>\n");
}

static enum rs_status
put_figure(struct buffer *out, const char *name, const char *value)
{
	RS_TRY(buffer_printf(out, "<div>%s<b>", name));
	RS_TRY(runs_report_text(out, value));
	return buffer_printf(out, "</b></div>\n");
}

static enum rs_status
put_figures(struct buffer *out, const struct store_run *run)
{
	char auc[32], logloss[32], rows[32], skipped[32], took[32];

	RS_TRY(buffer_printf(out, "<div class=\"figures\">\n"));
	RS_TRY(put_figure(out, "model", run->model));
	RS_TRY(put_figure(out, "auc", layout_figure(auc, run->auc, 6)));
	RS_TRY(put_figure(out, "logloss", layout_figure(logloss, run->logloss, 6)));
	RS_TRY(put_figure(out, "rows trained", run->rows < 0 ? "-"
		: layout_count(rows, run->rows)));
	RS_TRY(put_figure(out, "rows skipped", layout_count(skipped, run->skipped)));
	RS_TRY(put_figure(out, "took", layout_took(took, run->seconds)));
	RS_TRY(buffer_printf(out, "</div>\n"));
	RS_TRY(put_line(out, "Started", run->started));
	RS_TRY(put_line(out, "Message", run->message));
	RS_TRY(put_line(out, "Tag", run->tag));
	RS_TRY(put_line(out, "Note", run->note));
	RS_TRY(put_line(out, "Model directory", run->directory));
	return put_line(out, "Command", run->command_line);
}

/* --- curves ------------------------------------------------------------------------------ */

/* Epochs of a metric; divided by those of another, where one is named. */
static enum rs_status
put_curve(const struct runs_call *call, const struct store_run *run, const char *const key[3],
	struct buffer *out)
{
	struct store_point *top = NULL, *below = NULL;
	struct plot_point *point = NULL;
	size_t n = 0, n_below = 0, used = 0;

	enum rs_status status = store_points(call->store, run->run, key[1], &top, &n);
	if (status == RS_OK && key[2] != NULL)
		status = store_points(call->store, run->run, key[2], &below, &n_below);
	if (status == RS_OK)
		status = memory_alloc(n + 1, sizeof *point, &point);
	for (size_t i = 0; status == RS_OK && i < n; i++) {
		double y = top[i].value;

		if (top[i].epoch == 0)
			continue;
		if (key[2] != NULL)
			y = i < n_below && below[i].epoch == top[i].epoch && below[i].value > 0
				? y / below[i].value : NAN;
		point[used++] = (struct plot_point){ (double)top[i].epoch, y };
	}
	if (status == RS_OK)
		status = runs_report_curve(out, key[0], point, used);
	free(point);
	free(below);
	free(top);
	return status;
}

static enum rs_status
put_curves(const struct runs_call *call, const struct store_run *run, struct buffer *out)
{
	static const char *const curve[][3] = {
		{ "training loss", "train.loss", NULL }, { "valid logloss", "valid.logloss", NULL },
		{ "valid auc", "valid.auc", NULL }, { "valid mse", "valid.mse", NULL },
		{ "valid calibration", "valid.calibration", NULL },
		{ "rows per second", "train.rows", "train.seconds" },
	};

	RS_TRY(buffer_printf(out, "<h2>Curves</h2>\n<div class=\"curves\">\n"));
	for (size_t i = 0; i < sizeof curve / sizeof *curve; i++)
		RS_TRY(put_curve(call, run, curve[i], out));
	return buffer_printf(out, "</div>\n");
}

/* --- tables ------------------------------------------------------------------------------ */

static enum rs_status
put_cell(struct buffer *out, const char *element, int is_number, const char *text)
{
	RS_TRY(buffer_printf(out, "<%s%s>", element, is_number ? " class=\"n\"" : ""));
	RS_TRY(runs_report_text(out, text != NULL ? text : ""));
	return buffer_printf(out, "</%s>", element);
}

static enum rs_status
put_rows(struct buffer *out, const struct store_table *t)
{
	RS_TRY(buffer_printf(out, "<div class=\"wide\"><table><thead><tr>"));
	for (size_t c = 0; c < t->n_columns; c++)
		RS_TRY(put_cell(out, "th", t->is_number[c], t->name[c]));
	RS_TRY(buffer_printf(out, "</tr></thead><tbody>\n"));
	for (size_t r = 0; r < t->n_rows; r++) {
		RS_TRY(buffer_printf(out, "<tr>"));
		for (size_t c = 0; c < t->n_columns; c++)
			RS_TRY(put_cell(out, "td", t->is_number[c], t->cell[r * t->n_columns + c]));
		RS_TRY(buffer_printf(out, "</tr>\n"));
	}
	return buffer_printf(out, "</tbody></table></div>\n");
}

static enum rs_status
put_tables(const struct runs_call *call, const struct store_run *run, struct buffer *out)
{
	static const struct { enum store_part part; const char *name; } table[] = {
		{ STORE_WARNINGS, "Warnings" }, { STORE_PLACEMENTS, "Placement" },
		{ STORE_LEDGER, "Input" }, { STORE_ARTIFACTS, "Artifacts" },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct store_table t;

		RS_TRY(store_part(call->store, run->run, table[i].part, &t));
		enum rs_status status = RS_OK;
		if (t.n_rows > 0)
			status = buffer_printf(out, "<h2>%s</h2>\n", table[i].name);
		if (t.n_rows > 0 && status == RS_OK)
			status = put_rows(out, &t);
		store_table_free(&t);
		RS_TRY(status);
	}
	return RS_OK;
}

/* --- the whole --------------------------------------------------------------------------- */

static enum rs_status
fill_page(const struct runs_call *call, const struct store_run *run, struct buffer *out)
{
	RS_TRY(put_heading(out, run));
	RS_TRY(put_figures(out, run));
	RS_TRY(put_curves(call, run, out));
	RS_TRY(put_tables(call, run, out));
	RS_TRY(buffer_printf(out, "<h2>Spec</h2>\n"));
	RS_TRY(put_line(out, "From", run->spec_path));
	RS_TRY(buffer_printf(out, "<pre>"));
	RS_TRY(runs_report_text(out, run->spec_text));
	RS_TRY(buffer_printf(out, "</pre>\n<p>recsys-train "));
	RS_TRY(runs_report_text(out, run->version));
	return buffer_printf(out, ", seed %lld, threads %lld</p>\n</body></html>\n",
		(long long)run->seed, (long long)run->threads);
}

enum rs_status
runs_report(const struct runs_call *call)
{
	const char *const path = argument(call->a, "--output");
	struct store_run run;
	struct buffer page;

	RS_TRY(store_run_find(call->store, call->name[0], &run));
	buffer_init(&page, PAGE_BYTES);
	enum rs_status status = fill_page(call, &run, &page);
	if (status == RS_OK && path == NULL)
		status = output_text(page.data, page.n);
	else if (status == RS_OK && !argument_given(call->a, "--dry-run"))
		status = file_replace(path, page.data, page.n);
	buffer_free(&page);
	store_run_free(&run);
	return status;
}
