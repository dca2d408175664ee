/* The command rollback: an older version of a model becomes the current one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/model_spec.h"
#include "train/checkpoint.h"
#include "train/ledger.h"
#include "train/publish.h"

struct rollback {
	const struct arguments *a;
	const char *directory;
	const struct incremental_settings *settings;
	uint64_t was, now;             /* versions; `was` 0: none                     */
	uint64_t *newer;               /* [n_newer] that are put aside                */
	size_t   n_newer;
	char     mark[24];             /* of the ledger, "" for none                  */
};

/* "v000140", "140" */
static enum rs_status
parse_version(const char *text, uint64_t *out)
{
	const char *const digits = text[0] == 'v' ? text + 1 : text;
	char escaped[72];

	if (number_u64(digits, strlen(digits), out) && *out > 0)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "rollback: '%s' is no version, wanted 140 or v000140",
		rs_escape(escaped, text, strlen(text)));
}

static enum rs_status
read_mark(struct rollback *r)
{
	struct ledger ledger;
	struct tm utc;

	RS_TRY(ledger_read(r->directory, r->now, &ledger));
	const time_t mark = (time_t)ledger.mark;
	if (ledger.mark != LEDGER_NO_PERIOD && gmtime_r(&mark, &utc) != NULL)
		strftime(r->mark, sizeof r->mark, "%Y-%m-%dT%H:%MZ", &utc);
	ledger_free(&ledger);
	return RS_OK;
}

/* Where it goes, and what that puts aside. */
static enum rs_status
look(struct rollback *r, uint64_t version)
{
	size_t n;

	RS_TRY(checkpoint_read_current(r->directory, &r->was));
	RS_TRY(publish_rollback_target(r->directory, version, &r->now));
	RS_TRY(read_mark(r));
	RS_TRY(checkpoint_list(r->directory, &r->newer, &n));
	for (size_t i = 0; i < n; i++)
		if (r->newer[i] > r->now)
			r->newer[r->n_newer++] = r->newer[i];
	return RS_OK;
}

static enum rs_status
print_text(const struct rollback *r, int dry, int incomplete)
{
	if (r->was == r->now)
		RS_TRY(output_printf("v%06" PRIu64 " is current already\n", r->now));
	else if (r->was == 0)
		RS_TRY(output_printf("v%06" PRIu64 " %s current\n", r->now,
			dry ? "would be" : "is"));
	else
		RS_TRY(output_printf("v%06" PRIu64 " %s current instead of v%06" PRIu64 "\n",
			r->now, dry ? "would be" : "is", r->was));
	for (size_t i = 0; i < r->n_newer; i++)
		RS_TRY(output_printf("v%06" PRIu64 " %s put aside as v%06" PRIu64
			CHECKPOINT_REJECTED "\n", r->newer[i], dry ? "would be" : "is",
			r->newer[i]));
	if (r->settings->publish[0] != '\0' && !incomplete)
		RS_TRY(output_printf("%s '%s/%" PRIu64 "'\n",
			dry ? "would publish" : "published", r->settings->publish, r->now));
	if (r->mark[0] != '\0')
		RS_TRY(output_printf("the next train --incremental begins at %s: what was trained "
			"after that is trained again\n", r->mark));
	return RS_OK;
}

static enum rs_status
print_json(const struct rollback *r, int dry)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_int(&j, "version", (int64_t)r->now);
	json_int(&j, "was", (int64_t)r->was);
	json_open(&j, "put_aside", '[');
	for (size_t i = 0; i < r->n_newer; i++)
		json_int(&j, NULL, (int64_t)r->newer[i]);
	json_close(&j);
	json_string(&j, "mark", r->mark[0] != '\0' ? r->mark : NULL);
	json_bool(&j, "dry_run", dry);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
go_back(struct rollback *r, uint64_t version)
{
	const int dry = argument_given(r->a, "--dry-run");
	int incomplete = 0;

	RS_TRY(look(r, version));
	if (!dry)
		RS_TRY(publish_rollback(r->directory, r->now, r->settings, &incomplete));
	RS_TRY(command_json(r->a) ? print_json(r, dry) : print_text(r, dry, incomplete));
	RS_TRY(output_flush());
	if (!incomplete)
		return RS_OK;
	rs_fail(RS_EIO, "v%06" PRIu64 " is current, but it is not published", r->now);
	return rs_hint("the next run does what is left, or the same rollback once more");
}

static enum rs_status
roll_back(struct rollback *r, uint64_t version)
{
	struct checkpoint_lock lock;
	double wait = 0;

	if (argument_given(r->a, "--dry-run"))
		return go_back(r, version);
	RS_TRY(argument_seconds(r->a, "--lock-wait", &wait));
	RS_TRY(checkpoint_lock(r->directory, wait, &lock));
	const enum rs_status status = go_back(r, version);
	checkpoint_unlock(&lock);
	return status;
}

static enum rs_status
rollback_run(const struct arguments *a)
{
	struct rollback r = { .a = a };
	struct spec *spec;
	uint64_t version = 0;

	if (a->n_positional > 2)
		return rs_fail(RS_EUSAGE, "rollback: wanted MODEL and VERSION, got %zu",
			a->n_positional);
	RS_TRY(model_spec_directory(a, 0, &r.directory));
	if (a->n_positional == 2)
		RS_TRY(parse_version(a->positional[1], &version));
	RS_TRY(model_spec_read(a, r.directory, &spec));
	r.settings = &spec_settings(spec)->incremental;
	const enum rs_status status = roll_back(&r, version);
	free(r.newer);
	spec_free(spec);
	return status;
}

static const struct command_option rollback_option[] = { { .name = NULL } };

const struct command command_rollback = {
	.name = "rollback",
	.synopsis = "MODEL [VERSION] [-n]",
	.text = "Make an older version of a model the current one.",
	.option = rollback_option,
	.run = rollback_run,
};
