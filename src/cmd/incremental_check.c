/* Options that exclude each other, and keys that want others. */
#include "cmd/incremental_check.h"

#include "train/gate.h"
#include "train/intake.h"
#include "train/trial.h"

static enum rs_status
check_keys(const struct settings *s)
{
	if (s->data.command[0] != '\0' || s->data.train.n == 0)
		return rs_fail(RS_ESPEC, "data.train: --incremental wants files");
	if (s->incremental.file_time[0] == '\0' && s->data.time[0] == '\0') {
		rs_fail(RS_ESPEC, "nothing tells the time of a row");
		return rs_hint("set data.time to a column, or incremental.file_time to a pattern "
			"of file names");
	}
	if (s->incremental.gate == GATE_VALID && s->data.valid.n == 0)
		return rs_fail(RS_ESPEC, "incremental.gate = valid, but there is no data.valid");
	if (s->incremental.gate == GATE_HOLDOUT && s->incremental.holdout == 0)
		return rs_fail(RS_ESPEC,
			"incremental.gate = holdout, but incremental.holdout is 0");
	return intake_check_settings(s);
}

static int
is_meant(const struct incremental_settings *i)
{
	return i->file_time[0] != '\0' || i->ready[0] != '\0' || i->require.n > 0
		|| i->publish[0] != '\0' || i->metrics[0] != '\0';
}

enum rs_status
incremental_check_spec(const struct settings *s)
{
	const struct text_list *const require = &s->incremental.require;
	struct gate_condition condition;

	if (!is_meant(&s->incremental))
		return RS_OK;
	RS_TRY(check_keys(s));
	for (size_t i = 0; i < require->n; i++) {
		RS_TRY(gate_parse(require->item[i], &condition));
		RS_TRY(trial_check_figure(condition.metric, s));
	}
	return RS_OK;
}

enum rs_status
incremental_check(const struct arguments *a, const struct settings *s)
{
	static const char *const other[] = { "--initial", "--resume", "--fresh",
		"--data-command", "--expect-rows", "--reset-optimizer" };

	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (argument_given(a, other[i]))
			return rs_fail(RS_EUSAGE, "train: --incremental and %s exclude each other",
				other[i]);
	return check_keys(s);
}
