/* What a run is to compute on. */
#include "cmd/session.h"
#include "kernel/device.h"
#include "kernel/narrow.h"
#include "train/model.h"

#define TRAINS_ON_CPU "this version trains on CPUs, its kernels for GPUs are not in use yet"

enum rs_status
session_device(const struct settings *settings, const char **why_cpu)
{
	const struct narrow_set *set;

	*why_cpu = NULL;
	if (model_is_narrow(settings))
		RS_TRY(narrow_select(&set));
	if (settings->placement.device == DEVICE_CPU)
		return RS_OK;
	const struct device *const d = device_look();
	const char *const why = d->n > 0 ? TRAINS_ON_CPU : d->text;

	if (settings->placement.device == DEVICE_CUDA) {
		rs_fail(RS_EPEER, "placement.device = cuda: %s", why);
		return rs_hint("set placement.device = auto or cpu to train on the CPU");
	}
	*why_cpu = d->is_compiled ? why : NULL;
	return RS_OK;
}
