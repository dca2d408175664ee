/* Options that exclude each other, and keys that want others. */
#include "cmd/incremental_check.h"

enum rs_status
incremental_check(const struct arguments *a, const struct settings *s)
{
	static const char *const other[] = { "--initial", "--resume", "--fresh",
		"--data-command", "--expect-rows", "--reset-optimizer" };

	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (argument_given(a, other[i]))
			return rs_fail(RS_EUSAGE, "train: --incremental and %s exclude each other",
				other[i]);
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
	return RS_OK;
}
