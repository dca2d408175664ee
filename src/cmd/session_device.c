/* What a run is to compute on. */
#include "cmd/session.h"
#include "kernel/device.h"
#include "kernel/narrow.h"
#include "reduce/nccl_exchange.h"
#include "reduce/nccl_mesh.h"
#include "train/model.h"

#include <stdio.h>

/* On the CPU: this machine has what train.precision and train.products ask for. */
static enum rs_status
check_cpu(const struct settings *settings)
{
	const struct narrow_set *set;

	return model_select_products(settings, &set);
}

/* That is said of gpu.tables = gpu, too, which then ends with the status. */
static enum rs_status
stay_on_cpu(const struct settings *settings, enum rs_status status, const char *why)
{
	if (settings->gpu.tables != GPU_TABLES_GPU)
		return check_cpu(settings);
	rs_fail(status, "gpu.tables = gpu: %s", why);
	return rs_hint("set gpu.tables = auto or host to train on the CPU");
}

/* --- which of them ----------------------------------------------------------------------- */

/* "NVIDIA H200, 139 GiB (GPUs 0,2 of 4)" */
static const char *
describe(const struct gpu_memory *gpu)
{
	static char text[320];
	const struct device *const d = device_look();
	int at = snprintf(text, sizeof text, "%s", d->text);

	for (size_t i = 0; d->n > 1 && i < gpu->n_devices; i++)
		at += snprintf(text + at, sizeof text - (size_t)at, "%s%d",
			i > 0 ? "," : gpu->n_devices > 1 ? " (GPUs " : " (GPU ", gpu->device[i]);
	if (d->n > 1)
		snprintf(text + at, sizeof text - (size_t)at, " of %d)", d->n);
	return text;
}

/* What no machine could have. */
static enum rs_status
check_devices(const struct number_list *wanted)
{
	for (size_t i = 0; i < wanted->n; i++)
		for (size_t k = 0; k < i; k++)
			if (wanted->item[k] == wanted->item[i])
				return rs_fail(RS_ESPEC, "gpu.devices: %d is there twice",
					(int)wanted->item[i]);
	if (wanted->n > GPU_DEVICES_MAX)
		return rs_fail(RS_ESPEC, "gpu.devices: %zu GPUs are listed, at most %d can be used",
			wanted->n, GPU_DEVICES_MAX);
	return RS_OK;
}

/* wanted was checked. */
static enum rs_status
take_devices(const struct number_list *wanted, int n, struct gpu_memory *gpu)
{
	const size_t all = n < GPU_DEVICES_MAX ? (size_t)n : GPU_DEVICES_MAX;

	for (gpu->n_devices = 0; wanted->n == 0 && gpu->n_devices < all; gpu->n_devices++)
		gpu->device[gpu->n_devices] = (int)gpu->n_devices;
	for (size_t i = 0; i < wanted->n; i++) {
		const int number = (int)wanted->item[i];

		if (number >= n) {
			rs_fail(RS_EPEER, "gpu.devices: there is no GPU %d, the last is %d",
				number, n - 1);
			return rs_hint("CUDA_VISIBLE_DEVICES, where it is set, says which there "
				"are");
		}
		gpu->device[gpu->n_devices++] = number;
	}
	return RS_OK;
}

void
session_share_devices(struct gpu_memory *gpu, size_t i, size_t n, const char **why)
{
	if (gpu->gpu == NULL)
		return;
	gpu_memory_deal(gpu, i, n);
	*why = describe(gpu);
}

/* --- NCCL -------------------------------------------------------------------------------- */

const struct nccl_calls *
session_nccl(const struct gpu_memory *gpu, const char *why_device, const char **why_not)
{
	static char missing[NCCL_WHY];
	const struct nccl_calls *calls;

	*why_not = why_device != NULL ? why_device : "placement.device = cpu";
	if (gpu->gpu == NULL)
		return NULL;
	if (nccl_load(&calls) == RS_OK)
		return calls;
	snprintf(missing, sizeof missing, "%.200s", rs_failure()->text);
	*why_not = missing;
	return NULL;
}

void
session_tell_gpus(const struct gpu_memory *gpu, const char *why_device,
	struct placement_host *host)
{
	const char *why_not;

	if (host->no_nccl != NULL)
		return;
	host->n_gpus = gpu->n_devices;
	if (session_nccl(gpu, why_device, &why_not) == NULL)
		host->no_nccl = why_not;
}

/* --- the whole --------------------------------------------------------------------------- */

enum rs_status
session_device(const struct settings *settings, struct gpu_memory *gpu, const char **why)
{
	*why = NULL;
	*gpu = (struct gpu_memory){ .gpu = NULL };
	gpu->limit = (size_t)settings->gpu.memory_limit;
	if (settings->placement.device == DEVICE_CPU)
		return stay_on_cpu(settings, RS_ESPEC, "placement.device = cpu");
	RS_TRY(check_devices(&settings->gpu.devices));
	const struct device *const d = device_look();

	gpu->gpu = device_gpu();
	gpu->mesh = &nccl_mesh_maker;
	if (gpu->gpu != NULL) {
		RS_TRY(take_devices(&settings->gpu.devices, d->n, gpu));
		*why = describe(gpu);
		return RS_OK;
	}
	*why = d->is_compiled ? d->text : NULL;
	if (settings->placement.device == DEVICE_AUTO)
		return stay_on_cpu(settings, RS_EPEER, d->text);
	rs_fail(RS_EPEER, "placement.device = cuda: %s", d->text);
	return rs_hint("set placement.device = auto or cpu to train on the CPU");
}

const char *
session_device_name(const struct gpu_memory *gpu)
{
	return gpu->gpu != NULL ? gpu->gpu->name : "cpu";
}

const char *
session_tables_name(const struct model *m)
{
	return graph_rows_are_there(m->graph) ? "gpu" : "host";
}
