/* Labels that teach or tell nothing. */
#include "train/labels.h"

#include <inttypes.h>

#include "base/log.h"
#include "train/evaluate.h"

static int
can_stop_early(const struct train_settings *s)
{
	return s->early_stop > 0 && s->early_stop < s->epochs;
}

static int
wants_classes(const struct settings *s)
{
	struct figure_list list;

	figure_list_of(s, &list);
	return figure_list_needs_classes(&list);
}

enum rs_status
labels_check(const struct schema *schema, const struct monitor *monitor, enum loader_cache cache)
{
	const struct settings *const s = schema->settings;
	uint64_t n_negative, n_positive;

	if (s->data.valid.n == 0)
		return RS_OK;
	RS_TRY(evaluate_classes(schema, &s->data.valid, cache, &n_negative, &n_positive));
	if (s->model.loss == LOSS_MSE || (n_negative > 0 && n_positive > 0))
		return RS_OK;
	if (can_stop_early(&s->train) && monitor->needs_classes) {
		rs_fail(RS_EDATA,
			"early stop on %s is impossible: the validation rows have one class "
			"(%" PRIu64 " negative, %" PRIu64 " positive)", monitor->name,
			n_negative, n_positive);
		return rs_hint("set train.monitor = logloss or train.early_stop = 0");
	}
	if (s->model.loss == LOSS_LOGLOSS && wants_classes(s))
		log_warn("auc is not available: the validation rows have one class "
			"(%" PRIu64 " negative, %" PRIu64 " positive)", n_negative, n_positive);
	return RS_OK;
}

/* A figure of ranks that no group defines cannot tell the best epoch. */
static void
warn_groups(const struct settings *s, const struct metric_result *valid)
{
	struct figure monitor;

	figure_monitor(s, &monitor);
	if (figure_needs_groups(&monitor) && valid->groups_left_out == valid->groups)
		log_warn("%s is not available: %s", monitor.name, valid->groups == 0
			? "the validation rows have no groups"
			: s->eval.candidates == EVAL_CATALOGUE
			? "no group of the validation rows has a positive one"
			: "each group of the validation rows has one class");
}

void
labels_warn(const struct settings *s, const struct train_epoch *e)
{
	if (e->epoch == 1 && e->has_valid)
		warn_groups(s, &e->valid);
	if (s->model.loss != LOSS_LOGLOSS || e->epoch != 1)
		return;
	if (e->label_mean <= 0 || e->label_mean >= 1)
		log_warn("every training label is %d: the model can learn nothing but that",
			e->label_mean > 0);
	if (e->has_valid && e->valid.auc < 0.5)
		log_warn("validation auc %.4f is below 0.5: check data.label and data.label_values",
			e->valid.auc);
}
