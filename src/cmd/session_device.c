/* What a run is to compute on. */
#include "cmd/session.h"
#include "kernel/device.h"
#include "kernel/narrow.h"
#include "train/model.h"

#define BF16_ON_CPU "train.precision = bf16 is for CPUs in this version"

enum rs_status
session_device(const struct settings *settings, struct gpu_memory *gpu, const char **why)
{
	const int is_narrow = model_is_narrow(settings);
	const struct narrow_set *set;

	*why = NULL;
	gpu->gpu = NULL;
	gpu->limit = (size_t)settings->gpu.memory_limit;
	if (is_narrow)
		RS_TRY(narrow_select(&set));
	if (settings->placement.device == DEVICE_CPU)
		return RS_OK;
	const struct device *const d = device_look();
	const char *const text = d->n > 0 && is_narrow ? BF16_ON_CPU : d->text;

	gpu->gpu = is_narrow ? NULL : device_gpu();
	if (gpu->gpu == NULL && settings->placement.device == DEVICE_CUDA) {
		rs_fail(RS_EPEER, "placement.device = cuda: %s", text);
		return rs_hint("set placement.device = auto or cpu to train on the CPU");
	}
	*why = d->is_compiled ? text : NULL;
	return RS_OK;
}

const char *
session_device_name(const struct gpu_memory *gpu)
{
	return gpu->gpu != NULL ? gpu->gpu->name : "cpu";
}
