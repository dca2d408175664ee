/* Fresh, warm and resumed starts. */
#include "train/start.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/fit.h"
#include "spec/option.h"
#include "train/ranks.h"
#include "train/rest.h"
#include "train/spread.h"
#include "train/start_private.h"

#define LIST_LIMIT ((size_t)1 << 24)
#define SPEC_LIMIT ((size_t)64 << 20)

/* --- the three starts ------------------------------------------------------ */

/* NULL: those of the spec. */
static const struct text_list *
period_files(const struct train_options *options)
{
	return options->period != NULL ? options->period->files : NULL;
}

/* Takes the spec. */
static enum rs_status
make_model(struct spec *spec, const struct train_options *train,
	const struct model_options *options, struct model **out)
{
	enum rs_status status = RS_OK;

	if (fit_needed(spec_settings(spec)))
		status = fit_run(spec, period_files(train));
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	return model_create(spec, options, out);
}

/* The items of the training rows; with `extend` those that are new join the others. */
static enum rs_status
make_catalogue(struct model *m, const struct train_options *options, int extend)
{
	const struct settings *const s = spec_settings(m->spec);
	const struct text_list *const own = period_files(options);
	struct catalogue *const base = m->catalogue;

	if (!catalogue_needed(s) || (base != NULL && !extend))
		return RS_OK;
	m->catalogue = NULL;
	RS_TRY(catalogue_build(&m->schema, own != NULL ? own : &s->data.train, base,
		&m->catalogue));
	log_info("%zu items", m->catalogue->n);
	return RS_OK;
}

static enum rs_status
start_from(struct spec *spec, const struct train_options *train, uint64_t version,
	const struct model_options *options, struct start *out)
{
	const char *const directory = train->resume ? train->directory : train->from;
	const unsigned state = train->resume || !train->reset_optimizer ? CHECKPOINT_STATE : 0;
	const enum rs_status status = start_adopt(spec, train, version);

	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	RS_TRY(make_model(spec, train, options, &out->model));
	out->version = version;
	RS_TRY(checkpoint_fill(directory, version, state | CHECKPOINT_OTHER_FIELDS, out->model,
		&out->progress));
	return checkpoint_keep_unused(directory, version, out->model);
}

static void
begin_progress(struct checkpoint_progress *p, const struct model *m)
{
	memset(p, 0, sizeof *p);
	p->best = NAN;
	p->step = m->step;
	p->rate_factor = m->rate_factor;
}

static enum rs_status
start_fresh(struct spec *spec, const struct train_options *train,
	const struct model_options *options, struct start *out)
{
	RS_TRY(make_model(spec, train, options, &out->model));
	out->model->rate_factor = 1;
	begin_progress(&out->progress, out->model);
	return make_catalogue(out->model, train, 0);
}

static enum rs_status
start_warm(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	uint64_t version;
	struct checkpoint_progress former;
	enum rs_status status = checkpoint_peek(options->from, 0, &former, &version);

	if (status == RS_ENOINPUT && checkpoint_is_version(options->from))
		(void)rs_hint("it is one version of a model: name the directory that it is in");
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	RS_TRY(start_from(spec, options, version, model_options, out));
	RS_TRY(make_catalogue(out->model, options, 1));
	if (options->reset_steps)
		out->model->rate_factor = 1;
	begin_progress(&out->progress, out->model);
	out->progress.schedule_start = options->reset_steps ? out->model->step
		: former.schedule_start;
	log_info("warm start from '%s' v%06" PRIu64 ": step %" PRIu64
		", %zu tables and %zu dense parameters, "
		"optimizer state %s", options->from, version, out->model->step,
			out->model->n_tables,
		out->model->P, options->reset_optimizer ? "reset" : "kept");
	return RS_OK;
}

/* The newest sound version of an unfinished run; 0 in *version when there is none. */
static enum rs_status
find_unfinished(const char *directory, struct start *out, uint64_t *version)
{
	uint64_t *list;
	size_t n;

	*version = 0;
	RS_TRY(checkpoint_list(directory, &list, &n));
	enum rs_status status = RS_OK;
	for (size_t i = n; *version == 0 && i-- > 0; ) {
		status = checkpoint_peek(directory, list[i], &out->progress, NULL);
		if (status == RS_OK)
			*version = list[i];
		else if (checkpoint_is_damage(status))
			log_passed(rs_failure(), "looking at the former version");
		else
			break;
	}
	free(list);
	if (status != RS_OK && !checkpoint_is_damage(status))
		return status;
	out->finished = *version != 0 && out->progress.state == CHECKPOINT_FINAL;
	if (n > 0 && *version == 0)
		return rs_fail(RS_EDATA, "every version of '%s' is damaged", directory);
	return RS_OK;
}

static enum rs_status
start_resumed(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	uint64_t version = 0, current;
	enum rs_status status = checkpoint_read_current(options->directory, &current);

	if (status == RS_OK)
		status = find_unfinished(options->directory, out, &version);
	/* Killed before it was judged, it still is to be. */
	const int is_judged = options->n_conditions == 0 || current == version;

	if (status == RS_OK && out->finished && (options->continues || !is_judged)) {
		out->finished = 0;
		out->evaluates = 1;
	}
	if (status != RS_OK || out->finished) {
		out->version = version;
		spec_free(spec);
		return status;
	}
	if (version == 0) {
		log_warn("nothing to resume in '%s': starting from the beginning",
			options->directory);
		return start_fresh(spec, options, model_options, out);
	}
	RS_TRY(start_from(spec, options, version, model_options, out));
	RS_TRY(make_catalogue(out->model, options, 0));
	out->resumed = 1;
	log_info("resumed from '%s' v%06" PRIu64 ": step %" PRIu64 ", epoch %" PRIu64 ", row %"
		PRIu64,
		options->directory, version, out->model->step, out->progress.position.epoch + 1,
		out->progress.position.rows);
	return RS_OK;
}

/* As if there were no other ranks. */
static enum rs_status
start_alone(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	if (options->resume)
		return start_resumed(spec, options, model_options, out);
	if (options->from != NULL)
		return start_warm(spec, options, model_options, out);
	return start_fresh(spec, options, model_options, out);
}

/* --- the same start in every rank ------------------------------------------ */

/* What the others learn of rank 0's start. */
struct start_head {
	struct checkpoint_progress progress;
	uint64_t version;
	int      resumed, finished, evaluates;
};

/* The spec as rank 0 resolved it, but for where this rank finds the data. */
static enum rs_status
adopt_spec(const struct spec *own, const char *text, struct spec **out)
{
	enum rs_status status = spec_load_text(text, "spec of worker 0", out);

	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		struct buffer value;
		const int is_path = row->type == OPTION_PATH || row->type == OPTION_PATH_LIST;

		if (status != RS_OK)
			return status;
		if (strcmp(row->section, "data") != 0 || !is_path
		    || option_is_unset(row, spec_settings(own)))
			continue;
		buffer_init(&value, LIST_LIMIT);
		status = option_print(row, spec_settings(own), &value);
		if (status == RS_OK)
			status = buffer_printf(&value, "%s", "");
		if (status == RS_OK)
			status = spec_set(*out, row->section, row->key, value.data);
		buffer_free(&value);
	}
	return status;
}

enum rs_status
start_by_text(struct spec *own, const char *text, const struct model_options *options,
	struct start *out)
{
	struct spec *spec = NULL;
	const enum rs_status status = adopt_spec(own, text, &spec);

	spec_free(own);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	return model_create(spec, options, &out->model);
}

/* Takes the spec of a follower; rank 0's model has its own. */
static enum rs_status
share_model(struct spec *spec, const struct model_options *options, struct start *out)
{
	const struct train_place *const place = options->place;
	struct buffer text;
	unsigned parts = SPREAD_FREQUENCY;

	buffer_init(&text, SPEC_LIMIT);
	enum rs_status status = RS_OK;
	if (ranks_lead(place))
		status = ranks_outcome(place, spec_print(out->model->spec, 0, &text));
	else
		status = ranks_outcome(place, RS_OK);
	if (status == RS_OK)
		status = spread_text(place, 0, &text);
	if (status == RS_OK && !ranks_lead(place))
		status = start_by_text(spec, text.data, options, out);
	else
		spec_free(spec);
	buffer_free(&text);
	RS_TRY(status);
	parts |= out->model->catalogue != NULL ? SPREAD_ITEMS : 0;
	parts |= out->version != 0 ? SPREAD_TABLES : 0;
	return spread_model(out->model, 0, parts);
}

/* Takes the spec. */
static enum rs_status
start_together(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	const struct train_place *const place = model_options->place;
	struct start_head head = { 0 };
	enum rs_status status = RS_OK;

	if (ranks_lead(place)) {
		status = start_alone(spec, options, model_options, out);
		spec = NULL;
		head = (struct start_head){ out->progress, out->version, out->resumed,
			out->finished, out->evaluates };
	}
	status = ranks_outcome(place, status);
	if (status == RS_OK)
		status = ranks_broadcast(place, &head, sizeof head);
	if (status != RS_OK || head.finished) {
		spec_free(spec);
		out->finished = status == RS_OK;
		out->version = head.version;
		return status;
	}
	out->progress = head.progress;
	out->version = head.version;
	out->resumed = head.resumed;
	out->evaluates = head.evaluates;
	return share_model(spec, model_options, out);
}

enum rs_status
start_model(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	memset(out, 0, sizeof *out);
	if (options->live != NULL) {
		const enum rs_status status = start_live(&spec, options, model_options, out);

		if (status != RS_OK || out->live != NULL)
			return status;
	}
	RS_TRY(ranks_several(model_options->place)
		? start_together(spec, options, model_options, out)
		: start_alone(spec, options, model_options, out));
	return out->resumed ? rest_restore(out->model, options->directory, out->version) : RS_OK;
}
