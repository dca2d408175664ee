/* Looking for a GPU, in a binary with CUDA and in one without. */
#include "kernel/device.h"

#include <pthread.h>
#include <stdio.h>

#include "config.h"
#ifdef HAVE_CUDA
#include "kernel/cuda/cuda.h"
#endif

static struct device found;
static pthread_once_t found_once = PTHREAD_ONCE_INIT;

static void
look(void)
{
#ifdef HAVE_CUDA
	found.is_compiled = 1;
	found.n = cuda_look(found.text, sizeof(found.text));
#else
	snprintf(found.text, sizeof(found.text), "this build has no CUDA (--with-cuda)");
#endif
}

const struct device *
device_look(void)
{
	pthread_once(&found_once, look);
	return &found;
}

const struct gpu *
device_gpu(void)
{
#ifdef HAVE_CUDA
	return device_look()->n > 0 ? &gpu_cuda : NULL;
#else
	return NULL;
#endif
}
