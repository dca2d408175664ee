/* Which GPUs are found, on a double of CUDA: of each whether it can be used is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>

#include "kernel/cuda/cuda.h"
#include "kernel/cuda/cuda_private.h"

enum { GPUS_MAX = 4 };

static struct { int n, major[GPUS_MAX], is_held[GPUS_MAX], n_open, current; } world;

/* --- the double ---------------------------------------------------------------------------- */

cudaError_t
cudaGetDeviceCount(int *n)
{
	*n = world.n;
	return world.n > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "GPU-%d", device);
	out->major = world.major[device];
	out->totalGlobalMem = (size_t)8 << 30;
	return cudaSuccess;
}

cudaError_t
cudaGetLastError(void)
{
	return cudaSuccess;
}

cudaError_t
cudaDeviceReset(void)
{
	return cudaSuccess;
}

const char *
cudaGetErrorString(cudaError_t status)
{
	(void)status;
	return "an error";
}

enum rs_status
cuda_status(cudaError_t status, const char *what)
{
	return status == cudaSuccess ? RS_OK : rs_fail(RS_EPEER, "GPU: %s", what);
}

enum rs_status
cuda_blas_load(void)
{
	return RS_OK;
}

enum rs_status
cuda_open(const struct cuda_plan *plan, struct cuda_context **out)
{
	if (world.is_held[plan->device])
		return rs_fail(RS_EPEER, "GPU: cannot be used: %d is held", plan->device);
	*out = (struct cuda_context *)(void *)&world;
	world.current = plan->device;
	world.n_open++;
	return RS_OK;
}

void
cuda_close(struct cuda_context *c)
{
	(void)c;
	world.n_open--;
}

void
cuda_use(struct cuda_context *c)
{
	(void)c;
}

void *
cuda_take(struct cuda_context *c, size_t bytes)
{
	(void)bytes;
	return c;
}

enum rs_status
cuda_wait(void)
{
	return RS_OK;
}

static void
fill(size_t n, float *y, float value)
{
	(void)n, (void)y, (void)value;
}

const struct kernel_set kernel_cuda = { .fill = fill };

/* --- tests --------------------------------------------------------------------------------- */

static void
expect(int n, const char *text)
{
	char got[160];

	assert_int_equal(cuda_look(got, sizeof(got)), n);
	assert_string_equal(got, text);
	assert_int_equal(world.n_open, 0);
}

static void
one_that_works_is_enough(void **state)
{
	(void)state;
	world.n = 3;
	for (size_t i = 0; i < GPUS_MAX; i++)
		world.major[i] = 9;
	expect(3, "GPU-0, 8 GiB");
	world.is_held[0] = 1;
	expect(3, "GPU-1, 8 GiB");
	world.major[1] = 7;
	expect(3, "GPU-2, 8 GiB");
	assert_int_equal(world.current, 2);
}

static void
where_none_works_the_first_says_why(void **state)
{
	(void)state;
	world.n = 2;
	world.is_held[0] = 1;
	world.major[1] = 7;
	expect(0, "GPU: cannot be used: 0 is held");
	world.is_held[0] = 0;
	world.major[0] = 6;
	expect(0, "GPU-0 has compute capability 6.0, and 8.0 is needed");
	world.n = 0;
	expect(0, "no NVIDIA GPU was found");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_works_is_enough),
		cmocka_unit_test(where_none_works_the_first_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int
main(void)
{
	return 77;
}
#endif
