/* train --cron: one summary line, and silence about a lock that is held as usual. */
#include "cmd/cron.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/thread.h"
#include "train/checkpoint.h"

static struct {
	int    on;
	double start;
	char   text[512];
} cron;

void
cron_start(const struct arguments *a)
{
	if (!argument_given(a, "--cron"))
		return;
	cron.on = 1;
	cron.start = clock_seconds();
	log_open_system("recsys-train");
}

void
cron_summary(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(cron.text, sizeof cron.text, format, arguments);
	va_end(arguments);
}

/* "45 s", "12 m", "3 h 05 m" */
static const char *
duration(char out[40], double seconds)
{
	const long minutes = (long)(seconds / 60);

	if (minutes < 1)
		snprintf(out, 40, "%.0f s", seconds);
	else if (minutes < 60)
		snprintf(out, 40, "%ld m", minutes);
	else
		snprintf(out, 40, "%ld h %02ld m", minutes / 60, minutes % 60);
	return out;
}

enum rs_status
cron_locked(const char *directory, double lock_warn)
{
	char held[40];
	int64_t pid;
	double seconds;

	if (!cron.on)
		return RS_EBUSY;
	checkpoint_holder(directory, &pid, &seconds);
	if (seconds < lock_warn) {
		command_exit_code = rs_exit_code(RS_EBUSY);
		return RS_EBUSY;
	}
	rs_fail(RS_EBUSY, "process %" PRId64 " has held the model '%s' for %s", pid, directory,
		duration(held, seconds));
	return rs_hint("is it stuck? incremental.lock_warn says from when on this is news");
}

enum rs_status
cron_check_lock(const char *directory, double lock_warn)
{
	struct checkpoint_lock lock;

	if (!cron.on)
		return RS_OK;
	const enum rs_status status = checkpoint_lock(directory, 0, &lock);
	if (status == RS_OK)
		checkpoint_unlock(&lock);
	return status == RS_EBUSY ? cron_locked(directory, lock_warn) : status;
}

void
cron_end(const struct arguments *a, int code)
{
	const char *const spec = a->n_positional > 0 ? a->positional[0] : "";
	const struct rs_failure *const f = rs_failure();
	const char *text = cron.text[0] != '\0' ? cron.text : "done";

	if (!cron.on)
		return;
	if (code != 0 && f->status != RS_OK)
		text = f->text[0] != '\0' ? f->text : rs_status_text(f->status);
	log_summary(code == 0 ? LOG_INFO : code == rs_exit_code(RS_EBUSY) ? LOG_WARN : LOG_ERROR,
		"train %s: exit %d in %.1f s: %s%s%s", spec, code, clock_seconds() - cron.start,
		text, code != 0 && cron.text[0] != '\0' ? "; " : "",
		code != 0 ? cron.text : "");
}
