/* Blocks and threads of a GPU, one after another. */
#include "emulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/cuda/cuda_body.h"
#include "kernel/ref/ref.h"

/* What every GPU gives a block. */
enum { SHARED_BYTES = 48 << 10 };

static struct {
	int      is_backwards, is_parted;      /* nothing ran since the last barrier     */
	unsigned n_violations;
	char     where[200];
	float   *shared, *scratch;
} state;

void
emulate_backwards(int is_backwards)
{
	state.is_backwards = is_backwards;
}

unsigned
emulate_violations(const char **where)
{
	const unsigned n = state.n_violations;

	*where = state.where;
	state.n_violations = 0;
	return n;
}

void
emulate_end(void)
{
	free(state.shared);
	free(state.scratch);
	state.shared = state.scratch = NULL;
}

/* What is outside is counted; where a view has an element, that is what is touched. */
size_t
emulate_index(size_t i, size_t n, const char *file, int line)
{
	if (i < n)
		return i;
	if (state.n_violations++ == 0)
		snprintf(state.where, sizeof(state.where), "%s:%d: [%zu] of a view of %zu", file,
			line, i, n);
	if (n == 0)
		abort();
	return 0;
}

unsigned
emulate_each(const char *file, int line)
{
	if (!state.is_parted && state.n_violations++ == 0)
		snprintf(state.where, sizeof(state.where), "%s:%d: no barrier before", file, line);
	state.is_parted = 0;
	return 0;
}

void
emulate_barrier(void)
{
	state.is_parted = 1;
}

size_t
emulate_order(size_t k, size_t n)
{
	return state.is_backwards ? n - 1 - k : k;
}

static float *
fresh(float **p, size_t n)
{
	free(*p);
	*p = malloc(n * sizeof(float));
	for (size_t i = 0; i < n; i++)
		(*p)[i] = NAN;
	return *p;
}

struct view
emulate_shared(size_t n)
{
	emulate_barrier();
	if (n * sizeof(float) > SHARED_BYTES && state.n_violations++ == 0)
		snprintf(state.where, sizeof(state.where), "%zu floats of shared memory", n);
	return (struct view){ fresh(&state.shared, n), n };
}

float *
emulate_scratch(size_t n)
{
	return fresh(&state.scratch, n);
}

/* By columns. */
void
gemm_column_emulated(const struct gemm_args *a)
{
	for (size_t i = 0; i < a->m; i++)
		for (size_t j = 0; j < a->n; j++) {
			double sum = 0;
			for (size_t k = 0; k < a->k; k++)
				sum += (double)a->a[a->transpose_a ? k + i * a->lda :
								i + k * a->lda]
					* a->b[a->transpose_b ? j + k * a->ldb : k + j * a->ldb];
			float *const c = &a->c[i + j * a->ldc];
			*c = (float)(a->alpha * sum + (a->beta == 0 ? 0 : a->beta * *c));
		}
}
