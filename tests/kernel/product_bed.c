#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/kernel/product_bed.h"
#include "tests/test.h"

static struct fenced
fenced_open(size_t n, uint64_t key)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (n * sizeof(float) + page - 1) / page * page;
	struct fenced f = { .bytes = bytes + 2 * page };

	f.map = mmap(NULL, f.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f.map != MAP_FAILED);
	assert_int_equal(mprotect(f.map + page, bytes, PROT_READ | PROT_WRITE), 0);
	f.x = (float *)(void *)(f.map + page + bytes - n * sizeof(float));
	for (size_t i = 0; i < n; i++)
		f.x[i] = (float)(2 * rng_uniform(key, i) - 1);
	return f;
}

static void
fenced_close(struct fenced *f)
{
	munmap(f->map, f->bytes);
}

struct bed
bed_open(const struct shape *s, int ta, int tb, float beta)
{
	const size_t rows_a = ta ? s->k : s->m, rows_b = tb ? s->n : s->k;
	struct bed bed = { .args = { .transpose_a = ta, .transpose_b = tb, .m = s->m, .n = s->n,
		.k = s->k, .alpha = 0.75f, .beta = beta, .lda = (ta ? s->m : s->k) + BED_PAD,
		.ldb = (tb ? s->k : s->n) + BED_PAD, .ldc = s->n + BED_PAD } };

	/* The last row is as long as the matrix is wide. */
	bed.n_c = s->m * bed.args.ldc - BED_PAD;
	bed.a = fenced_open(rows_a * bed.args.lda - BED_PAD, 1);
	bed.b = fenced_open(rows_b * bed.args.ldb - BED_PAD, 2);
	bed.c = fenced_open(bed.n_c, 3);
	bed.scratch = fenced_open(KERNEL_GEMM_SCRATCH, 4);
	bed.args.a = bed.a.x;
	bed.args.b = bed.b.x;
	bed.args.c = bed.c.x;
	bed.args.scratch = bed.scratch.x;
	return bed;
}

void
bed_close(struct bed *bed)
{
	fenced_close(&bed->a);
	fenced_close(&bed->b);
	fenced_close(&bed->c);
	fenced_close(&bed->scratch);
}

static double
exact(const struct gemm_args *g, const float *before, size_t i, size_t j)
{
	double sum = 0;

	for (size_t p = 0; p < g->k; p++)
		sum += (double)g->a[g->transpose_a ? p * g->lda + i : i * g->lda + p]
			* g->b[g->transpose_b ? j * g->ldb + p : p * g->ldb + j];
	return g->alpha * sum + (g->beta != 0 ? g->beta * before[i * g->ldc + j] : 0);
}

void
bed_check(const struct kernel_set *k, struct bed *bed)
{
	const struct gemm_args *const g = &bed->args;
	float *const before = malloc(bed->n_c * sizeof(*before));
	const double most = 1e-6 * (double)(g->k + 4);

	/* What beta = 0 overwrites is not looked at. */
	for (size_t i = 0; i < bed->n_c && g->beta == 0; i++)
		bed->c.x[i] = NAN;
	memcpy(before, bed->c.x, bed->n_c * sizeof(*before));
	k->gemm(g);
	for (size_t i = 0; i < g->m; i++)
		for (size_t j = 0; j < g->ldc && i * g->ldc + j < bed->n_c; j++) {
			const size_t at = i * g->ldc + j;
			if (j >= g->n)
				assert_memory_equal(&g->c[at], &before[at], sizeof(float));
			else if (!(fabs(g->c[at] - exact(g, before, i, j)) <= most))
				fail_msg("%s: [%zu,%zu] of %zu x %zu x %zu, %d %d beta %g: %.9g, "
					"not %.9g", k->name, i, j, g->m, g->n, g->k,
					g->transpose_a, g->transpose_b, (double)g->beta,
					(double)g->c[at], exact(g, before, i, j));
		}
	free(before);
}
