/* Which GPUs there are. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernel/cuda/cuda.h"

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
try_out(void)
{
	enum { FLOATS = 64 };
	const struct cuda_plan plan = { .bytes = FLOATS * sizeof(float), .multiplies = 1 };
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

int
cuda_look(char *text, size_t n)
{
	struct cudaDeviceProp properties;
	int n_devices = 0;

	cudaError_t status = cudaGetDeviceCount(&n_devices);
	if (status == cudaSuccess && n_devices > 0)
		status = cudaGetDeviceProperties(&properties, 0);
	if (status != cudaSuccess || n_devices == 0) {
		(void)cudaGetLastError();
		snprintf(text, n, "%s", why_none(status));
		return 0;
	}
	if (properties.major < LEAST_MAJOR) {
		snprintf(text, n, "%s has compute capability %d.%d, and %d.0 is needed",
			properties.name, properties.major, properties.minor, LEAST_MAJOR);
		return 0;
	}
	/* Without it nothing runs, and a run on the CPU is to say so before it begins. */
	if (cuda_blas_load() != RS_OK || try_out() != RS_OK) {
		snprintf(text, n, "%s", rs_failure()->text);
		return 0;
	}
	snprintf(text, n, "%s, %.0f GiB", properties.name,
		(double)properties.totalGlobalMem / 0x1p30);
	return n_devices;
}
