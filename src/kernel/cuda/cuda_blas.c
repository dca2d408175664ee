/* Products by cuBLAS, which is loaded rather than linked: it is large, and its absence is a
 * message. */
#include <cublas_v2.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel/cuda/cuda.h"
#include "kernel/cuda/cuda_private.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libcublas.so." TEXT(CUBLAS_VER_MAJOR)

/* What is called: name, type. */
#define BLAS_TABLE(ROW) \
	ROW(cublasCreate_v2,       (cublasHandle_t *)) \
	ROW(cublasDestroy_v2,      (cublasHandle_t)) \
	ROW(cublasSetStream_v2,    (cublasHandle_t, cudaStream_t)) \
	ROW(cublasSetWorkspace_v2, (cublasHandle_t, void *, size_t)) \
	ROW(cublasGemmEx,          (cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, \
		int, const void *, const void *, cudaDataType, int, const void *, cudaDataType, \
		int, const void *, void *, cudaDataType, int, cublasComputeType_t, \
		cublasGemmAlgo_t))

static struct {
#define ROW(name, arguments) cublasStatus_t (*name) arguments;
	BLAS_TABLE(ROW)
#undef ROW
	void *library;
	char  missing[200];
} blas;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

struct cuda_blas {
	cublasHandle_t handle;
};

static void
load(void)
{
	/* Where the loader looks, then where it was when this was built. */
	blas.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (blas.library == NULL)
		blas.library = dlopen(CUDA_LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (blas.library == NULL) {
		snprintf(blas.missing, sizeof(blas.missing), "%s was not found", LIBRARY);
		return;
	}
#define ROW(name, arguments) \
	*(void **)&blas.name = dlsym(blas.library, #name); \
	if (blas.name == NULL) \
		snprintf(blas.missing, sizeof(blas.missing), "%s has no %s", LIBRARY, #name);
	BLAS_TABLE(ROW)
#undef ROW
}

enum rs_status
cuda_blas_load(void)
{
	pthread_once(&load_once, load);
	if (blas.missing[0] == '\0')
		return RS_OK;
	rs_fail(RS_EPEER, "GPU: cuBLAS is missing: %s", blas.missing);
	return rs_hint("it is part of the CUDA toolkit; name its folder in LD_LIBRARY_PATH");
}

enum rs_status
cuda_blas_open(cudaStream_t stream, void *workspace, size_t workspace_bytes,
	struct cuda_blas **out)
{
	struct cuda_blas *b;

	RS_TRY(cuda_blas_load());
	RS_TRY(memory_alloc(1, sizeof(*b), &b));
	*out = b;
	cublasStatus_t status = blas.cublasCreate_v2(&b->handle);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = blas.cublasSetStream_v2(b->handle, stream);
	/* With memory of its own cuBLAS gives the same bits each time. */
	if (status == CUBLAS_STATUS_SUCCESS)
		status = blas.cublasSetWorkspace_v2(b->handle, workspace, workspace_bytes);
	if (status == CUBLAS_STATUS_SUCCESS)
		return RS_OK;
	return rs_fail(status == CUBLAS_STATUS_ALLOC_FAILED ? RS_ERESOURCE : RS_EPEER,
		"GPU: cuBLAS does not start: status %d", (int)status);
}

void
cuda_blas_close(struct cuda_blas *b)
{
	if (b == NULL)
		return;
	if (b->handle != NULL)
		(void)blas.cublasDestroy_v2(b->handle);
	free(b);
}

static void
multiply(const struct gemm_args *s, const void *a, const void *b, cudaDataType type)
{
	if (!cuda_is_well())
		return;
	const cublasStatus_t status = blas.cublasGemmEx(cuda_blas_of_thread()->handle,
		s->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
		s->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, (int)s->m, (int)s->n, (int)s->k,
		&s->alpha, a, type, (int)s->lda, b, type, (int)s->ldb, &s->beta, s->c, CUDA_R_32F,
		(int)s->ldc, s->is_tf32 && type == CUDA_R_32F ? CUBLAS_COMPUTE_32F_FAST_TF32
			: CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);

	if (status != CUBLAS_STATUS_SUCCESS)
		cuda_note(cudaErrorUnknown);
}

void
gemm_column_cuda(const struct gemm_args *a)
{
	multiply(a, a->a, a->b, CUDA_R_32F);
}

void
gemm_brain_column_cuda(const struct gemm_args *shape, const uint16_t *a, const uint16_t *b)
{
	multiply(shape, a, b, CUDA_R_16BF);
}
