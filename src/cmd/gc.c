/* The command gc: what of a model directory is no longer needed goes. */
#include "cmd/gc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/layout.h"
#include "cmd/model_spec.h"
#include "train/checkpoint.h"
#include "train/publish.h"

struct call {
	const struct arguments *a;
	const struct settings *settings;
	struct gc g;
	struct gc_files gone;
	uint64_t freed;
	int dry;
};

/* --- options ------------------------------------------------------------------------ */

/* "20G": bytes, K M G T of 1024 each. */
static enum rs_status
parse_size(const char *text, uint64_t *out)
{
	static const char unit[] = "KMGT";
	const size_t digits = strcspn(text, unit);
	const char *const suffix = text + digits;
	char escaped[72];
	double value;

	if (number_double(text, digits, &value) && value >= 0
	    && (suffix[0] == '\0' || suffix[1] == '\0' || strcmp(suffix + 1, "iB") == 0)) {
		if (suffix[0] != '\0')
			for (const char *u = unit; u <= strchr(unit, suffix[0]); u++)
				value *= 1024;
		if (value < 1e18) {
			*out = (uint64_t)value;
			return RS_OK;
		}
	}
	return rs_fail(RS_EUSAGE, "--max-size '%s': wanted bytes, or such as 500M, 20G",
		rs_escape(escaped, text, strlen(text)));
}

static enum rs_status
read_rules(const struct call *c, struct gc_rules *rules)
{
	const struct { const char *name; int64_t *value; } row[] = {
		{ "--keep-last", &rules->last }, { "--keep-hourly", &rules->hourly },
		{ "--keep-daily", &rules->daily }, { "--keep-weekly", &rules->weekly },
	};
	int given = 0;

	*rules = (struct gc_rules){ -1, -1, -1, -1 };
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		RS_TRY(argument_int(c->a, row[i].name, 0, 1000000000, row[i].value));
		given |= argument_given(c->a, row[i].name);
	}
	if (!given)
		rules->last = argument_given(c->a, "--max-size") ? INT64_MAX
			: c->settings->train.keep;
	return RS_OK;
}

/* --- judging ------------------------------------------------------------------------ */

static enum rs_status
ask_runs(struct call *c, const struct spec *spec)
{
	const char *tag[64];
	char *database;
	size_t n = 0;

	for (; (tag[n] = argument_nth(c->a, "--keep-tag", n)) != NULL; n++)
		if (n + 1 == sizeof tag / sizeof *tag)
			return rs_fail(RS_EUSAGE, "gc: more than %zu tags", n);
	RS_TRY(command_database(c->a, spec, c->g.directory, &database));
	enum rs_status status = gc_ask_runs(&c->g, database, tag, n);
	free(database);
	if (status != RS_OK)
		rs_hint("tagged versions must stay, so nothing is removed without the database");
	return status;
}

static enum rs_status
limit_size(struct call *c)
{
	const char *const text = argument(c->a, "--max-size");
	char is[32], wanted[32];
	uint64_t bytes = 0, left;

	if (text == NULL)
		return RS_OK;
	RS_TRY(parse_size(text, &bytes));
	gc_limit(&c->g, bytes, &left);
	if (left > bytes)
		log_warn("what must stay has %s, --max-size is %s", layout_bytes(is, left),
			layout_bytes(wanted, bytes));
	return RS_OK;
}

static enum rs_status
judge(struct call *c, const struct spec *spec)
{
	struct gc_rules rules;

	RS_TRY(read_rules(c, &rules));
	RS_TRY(gc_scan(&c->g));
	RS_TRY(gc_bind(&c->g));
	RS_TRY(ask_runs(c, spec));
	gc_keep(&c->g, &rules);
	gc_keep_parents(&c->g);
	RS_TRY(limit_size(c));
	for (size_t i = 0; i < c->g.n; i++)
		if (c->g.item[i].fate != GC_KEEP)
			RS_TRY(gc_files_add(&c->gone, c->g.item[i].path,
				c->g.item[i].fate == GC_STRIP));
	c->freed = gc_files_freed(&c->gone);
	return RS_OK;
}

/* --- telling ------------------------------------------------------------------------ */

static const char *const fate_name[] = {
	[GC_REMOVE] = "remove", [GC_STRIP] = "strip", [GC_KEEP] = "keep",
};

static void
print_time(char out[32], int64_t seconds, const char *format)
{
	const time_t t = (time_t)seconds;
	struct tm utc;

	out[0] = '\0';
	if (gmtime_r(&t, &utc) != NULL)
		strftime(out, 32, format, &utc);
}

static enum rs_status
fill_table(const struct call *c, struct layout *l)
{
	for (size_t i = 0; i < c->g.n; i++) {
		const struct gc_item *const item = &c->g.item[i];
		char bytes[32], made[32];

		print_time(made, item->time, "%Y-%m-%d %H:%M");
		RS_TRY(layout_cell(l, "%s", fate_name[item->fate]));
		RS_TRY(layout_cell(l, "%s", item->name));
		RS_TRY(layout_cell(l, "%s", layout_bytes(bytes, item->bytes)));
		RS_TRY(layout_cell(l, "%s", made));
		RS_TRY(layout_cell(l, "%s", item->why));
	}
	return RS_OK;
}

static enum rs_status
print_text(const struct call *c)
{
	struct layout l;
	char bytes[32];

	if (log_level() == LOG_ERROR)
		return RS_OK;
	layout_init(&l, 5, 1u << 2);
	enum rs_status status = fill_table(c, &l);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	RS_TRY(status);
	if (c->gone.n == 0)
		return output_printf("nothing to remove\n");
	return output_printf("%s %s in %zu file%s%s\n", c->dry ? "would free" : "freed",
		layout_bytes(bytes, c->freed), c->gone.n, c->gone.n == 1 ? "" : "s",
		c->dry ? " (dry run)" : "");
}

static enum rs_status
print_json(const struct call *c)
{
	struct json j;
	char made[32];

	json_init(&j);
	json_open(&j, NULL, '{');
	json_open(&j, "items", '[');
	for (size_t i = 0; i < c->g.n; i++) {
		const struct gc_item *const item = &c->g.item[i];

		print_time(made, item->time, "%Y-%m-%dT%H:%M:%SZ");
		json_open(&j, NULL, '{');
		json_string(&j, "action", fate_name[item->fate]);
		json_string(&j, "path", item->path);
		json_int(&j, "bytes", (int64_t)item->bytes);
		json_string(&j, "time", made);
		json_string(&j, "why", item->why);
		json_close(&j);
	}
	json_close(&j);
	json_int(&j, "freed_bytes", (int64_t)c->freed);
	json_int(&j, "files", (int64_t)c->gone.n);
	json_bool(&j, "dry_run", c->dry);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

/* --- removing ----------------------------------------------------------------------- */

static enum rs_status
remove_item(const struct call *c, const struct gc_item *item, int *changed)
{
	uint64_t bytes;

	switch (item->kind) {
	case GC_VERSION:
		return checkpoint_remove(c->g.directory, item->version);
	case GC_REJECTED:
		return publish_shrink(c->g.directory, item->version);
	case GC_TEMPORARY:
	case GC_ROWS:
		return file_remove_tree(item->path);
	case GC_COPY:
		*changed = 1;
		return RS_OK;
	case GC_TABLE:
		if (*changed < 2)
			RS_TRY(checkpoint_drop_unused(c->g.directory, c->g.current, &bytes));
		*changed = 2;
		return RS_OK;
	}
	return RS_OK;
}

/* What was put aside first: it may be a delta of a version that goes.  Copies for serving
 * follow from CURRENT. */
static enum rs_status
remove_all(const struct call *c)
{
	int changed = 0, incomplete = 0;

	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < c->g.n; i++)
			if (c->g.item[i].fate != GC_KEEP
			    && (c->g.item[i].kind != GC_REJECTED) == others)
				RS_TRY(remove_item(c, &c->g.item[i], &changed));
	if (changed)
		RS_TRY(publish_repair(c->g.directory, c->g.settings, &incomplete));
	return incomplete ? rs_fail(RS_EIO, "the version is not published") : RS_OK;
}

/* Before anything is judged: the versions it was a delta of may then go. */
static enum rs_status
compact(const struct call *c)
{
	int changed = 0;
	uint64_t version;

	if (!argument_given(c->a, "--compact") || c->dry)
		return RS_OK;
	RS_TRY(checkpoint_peek(c->g.directory, 0, NULL, &version));
	RS_TRY(checkpoint_compact(c->g.directory, version, &changed));
	if (changed)
		log_info("v%06" PRIu64 " is whole", version);
	return RS_OK;
}

static enum rs_status
collect(struct call *c, const struct spec *spec)
{
	RS_TRY(compact(c));
	RS_TRY(judge(c, spec));
	if (!c->dry)
		RS_TRY(remove_all(c));
	RS_TRY(command_json(c->a) ? print_json(c) : print_text(c));
	return output_flush();
}

static enum rs_status
collect_alone(struct call *c, const struct spec *spec)
{
	struct checkpoint_lock lock;
	double wait = 0;

	if (c->dry)
		return collect(c, spec);
	RS_TRY(argument_seconds(c->a, "--lock-wait", &wait));
	RS_TRY(checkpoint_lock(c->g.directory, wait, &lock));
	const enum rs_status status = collect(c, spec);
	checkpoint_unlock(&lock);
	return status;
}

static enum rs_status
gc_run(const struct arguments *a)
{
	struct call c = { .a = a, .dry = argument_given(a, "--dry-run") };
	struct spec *spec;

	if (a->n_positional > 1)
		return rs_fail(RS_EUSAGE, "gc: wanted one MODEL, got %zu",
			a->n_positional);
	RS_TRY(model_spec_directory(a, 0, &c.g.directory));
	RS_TRY(model_spec_read(a, c.g.directory, &spec));
	c.settings = spec_settings(spec);
	c.g.settings = &c.settings->incremental;
	c.g.cache = c.settings->data.cache;
	const enum rs_status status = collect_alone(&c, spec);
	gc_free(&c.g);
	gc_files_free(&c.gone);
	spec_free(spec);
	return status;
}

static const struct command_option gc_option[] = {
	{ .name = "--keep-last", .argument = "N", .text = "keep the newest N versions; without "
		"any rule train.keep of the model's spec" },
	{ .name = "--keep-hourly", .argument = "N", .text = "keep the newest version of each of "
		"the newest N hours (UTC) that have one" },
	{ .name = "--keep-daily", .argument = "N", .text = "the same by days" },
	{ .name = "--keep-weekly", .argument = "N", .text = "the same by weeks, from Monday on" },
	{ .name = "--keep-tag", .argument = "TAG", .repeats = 1, .text = "only versions of runs "
		"with this tag stay for their tag, not those of all tagged runs" },
	{ .name = "--compact", .text = "first make the current version whole if it is a delta "
		"(train.full_every), so that those it is made of need not stay; with --dry-run "
		"nothing is made" },
	{ .name = "--max-size", .argument = "SIZE", .text = "then remove the oldest until the "
		"versions have no more than SIZE, for instance 20G" },
	{ .name = NULL },
};

const struct command command_gc = {
	.name = "gc",
	.synopsis = "MODEL [--keep-last N] [--keep-hourly N] [--keep-daily N] [--keep-weekly N] "
		"[--keep-tag TAG]... [--max-size SIZE] [--compact] [-n]",
	.text = "Remove versions of a model that are no longer needed.",
	.option = gc_option,
	.run = gc_run,
};
