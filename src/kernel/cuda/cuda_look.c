/* Which GPUs there are. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernel/cuda/cuda.h"
#include "kernel/cuda/cuda_private.h"

/* The least whose code is compiled in. */
enum { LEAST_MAJOR = 8 };

static const char *
why_none(cudaError_t status)
{
	switch (status) {
	case cudaSuccess:
	case cudaErrorNoDevice:           return "no NVIDIA GPU was found";
	case cudaErrorInsufficientDriver: return "no NVIDIA driver, or one older than CUDA";
	default:                          return cudaGetErrorString(status);
	}
}

/* A context of some bytes, in which a kernel runs: a driver older than the code, a GPU that
 * others hold or one without memory is seen here, where the CPU can still be chosen.  What
 * the driver keeps of it for the process goes, as who looks may only start others. */
static enum rs_status
try_out(int device)
{
	enum { FLOATS = 64 };
	const struct cuda_plan plan = { .device = device, .bytes = FLOATS * sizeof(float),
		.multiplies = 1 };
	struct cuda_context *c = NULL;
	enum rs_status status = cuda_open(&plan, &c);

	if (status == RS_OK) {
		cuda_use(c);
		kernel_cuda.fill(FLOATS, cuda_take(c, plan.bytes), 0);
		status = cuda_wait();
		cuda_use(NULL);
		cuda_close(c);
	}
	(void)cudaDeviceReset();
	(void)cudaGetLastError();
	return status;
}

static enum rs_status
look_at(int device, struct cudaDeviceProp *out)
{
	RS_TRY(cuda_status(cudaGetDeviceProperties(out, device), "cannot be told"));
	if (out->major < LEAST_MAJOR)
		return rs_fail(RS_EPEER, "%s has compute capability %d.%d, and %d.0 is needed",
			out->name, out->major, out->minor, LEAST_MAJOR);
	return try_out(device);
}

/* Any: one that others hold is no reason against those that are free, of which the run may
 * name one.  Fails as the first did. */
static enum rs_status
look_at_all(int n, struct cudaDeviceProp *out)
{
	struct rs_failure first;

	if (look_at(0, out) == RS_OK)
		return RS_OK;
	rs_failure_take(&first);
	for (int i = 1; i < n; i++)
		if (look_at(i, out) == RS_OK)
			return RS_OK;
	return rs_failure_put(&first);
}

int
cuda_look(char *text, size_t n)
{
	struct cudaDeviceProp properties;
	int n_devices = 0;

	const cudaError_t status = cudaGetDeviceCount(&n_devices);
	if (status != cudaSuccess || n_devices == 0) {
		(void)cudaGetLastError();
		snprintf(text, n, "%s", why_none(status));
		return 0;
	}
	/* Without it nothing runs, and a run on the CPU is to say so before it begins. */
	if (cuda_blas_load() != RS_OK || look_at_all(n_devices, &properties) != RS_OK) {
		snprintf(text, n, "%s", rs_failure()->text);
		return 0;
	}
	snprintf(text, n, "%s, %.0f GiB", properties.name,
		(double)properties.totalGlobalMem / 0x1p30);
	return n_devices;
}
