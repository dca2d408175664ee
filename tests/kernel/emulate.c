/* Blocks and threads of a GPU, one after another. */
#include "emulate.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/cuda/cuda_body.h"
#include "kernel/ref/ref.h"

/* What every GPU gives a block. */
enum { SHARED_FLOATS = (48 << 10) / sizeof(float) };

static struct {
	int         is_backwards;
	atomic_uint n_violations, until_failure;
	char        where[200];        /* of the first                                    */
} state;

/* Cut from the front; from the start again, when all was given back. */
enum { COMMON_BYTES = 1 << 30 };
static struct common {
	char    *block;
	size_t   used, bytes;          /* bytes: whole pages that were used               */
	unsigned n, is_open;
} common[EMULATE_DEVICES];
static pthread_mutex_t common_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct {
	struct emulate_memory *memory;
	struct emulate_recording *recording;   /* what is started is kept there           */
	int    is_skipping;            /* what is started is neither run nor kept         */
	size_t n_started;
	int    is_parted;              /* nothing ran since the last barrier              */
	float  shared[SHARED_FLOATS];
	float *scratch;
	size_t scratch_floats;
} mine;

void
emulate_backwards(int is_backwards)
{
	state.is_backwards = is_backwards;
}

void
emulate_violate(const char *format, ...)
{
	va_list arguments;

	if (atomic_fetch_add(&state.n_violations, 1) > 0)
		return;
	va_start(arguments, format);
	vsnprintf(state.where, sizeof(state.where), format, arguments);
	va_end(arguments);
}

unsigned
emulate_violations(const char **where)
{
	*where = state.where;
	return atomic_exchange(&state.n_violations, 0);
}

void
emulate_end(void)
{
	free(mine.scratch);
	mine.scratch = NULL;
	mine.scratch_floats = 0;
}

/* --- memory ---------------------------------------------------------------------------- */

void
emulate_use(struct emulate_memory *m)
{
	mine.memory = m;
}

static void
protect(const struct emulate_memory *m, int protection)
{
	if (mprotect(m->block, m->bytes, protection) != 0)
		abort();
}

/* With the lock. */
static void
protect_common(const struct common *c, int protection)
{
	if (c->bytes > 0 && mprotect(c->block, c->bytes, protection) != 0)
		abort();
}

static void
open_common(struct common *c)
{
	pthread_mutex_lock(&common_lock);
	if (c->is_open++ == 0)
		protect_common(c, PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&common_lock);
}

static void
close_common(struct common *c)
{
	pthread_mutex_lock(&common_lock);
	if (--c->is_open == 0)
		protect_common(c, PROT_NONE);
	pthread_mutex_unlock(&common_lock);
}

/* With the lock. */
static void *
cut_common(struct common *c, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = c->used;

	if (c->block == NULL)
		c->block = mmap(NULL, COMMON_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->block == MAP_FAILED || bytes > COMMON_BYTES - first)
		return NULL;
	c->used = (first + bytes + 255) / 256 * 256;
	if (c->bytes < c->used)
		c->bytes = (c->used + page - 1) / page * page;
	c->n++;
	protect_common(c, PROT_READ | PROT_WRITE);
	memset(c->block + first, 0xff, bytes);
	if (c->is_open == 0)
		protect_common(c, PROT_NONE);
	return c->block + first;
}

void *
emulate_take(int device, size_t bytes)
{
	pthread_mutex_lock(&common_lock);
	void *const p = cut_common(&common[device], bytes);
	pthread_mutex_unlock(&common_lock);
	return p;
}

void
emulate_give(int device, void *p)
{
	pthread_mutex_lock(&common_lock);
	assert(p != NULL && common[device].n > 0);
	if (--common[device].n == 0)
		common[device].used = 0;
	pthread_mutex_unlock(&common_lock);
}

void
emulate_open(struct emulate_memory *m)
{
	if (m->is_open++ == 0)
		protect(m, PROT_READ | PROT_WRITE);
}

void
emulate_close(struct emulate_memory *m)
{
	assert(m->is_open > 0);
	if (--m->is_open == 0)
		protect(m, PROT_NONE);
}

void
emulate_open_all(struct emulate_memory *m)
{
	emulate_open(m);
	open_common(&common[m->device]);
}

void
emulate_close_all(struct emulate_memory *m)
{
	close_common(&common[m->device]);
	emulate_close(m);
}

void
emulate_fail(unsigned n)
{
	atomic_store(&state.until_failure, n);
}

int
emulate_fails(void)
{
	return atomic_load(&state.until_failure) > 0
		&& atomic_fetch_sub(&state.until_failure, 1) == 1;
}

int
emulate_start(void)
{
	if (mine.memory == NULL)
		return 1;
	mine.memory->n_started++;
	if (emulate_fails())
		mine.memory->has_failed = 1;
	if (mine.memory->has_failed)
		return 0;
	emulate_open_all(mine.memory);
	return 1;
}

void
emulate_stop(void)
{
	if (mine.memory == NULL)
		return;
	emulate_close_all(mine.memory);
}

/* --- recordings ------------------------------------------------------------------------ */

struct call {
	emulate_blocks *run;
	size_t n_blocks, n_shared;
	void  *work;                   /* a copy                                          */
};

static void
run_now(const struct call *c)
{
	if (!emulate_start())
		return;
	c->run(c->work, c->n_blocks, c->n_shared);
	emulate_stop();
}

static void
keep(struct emulate_recording *r, struct call c, size_t bytes)
{
	void *const work = malloc(bytes);

	r->call = realloc(r->call, (r->n + 1) * sizeof(*r->call));
	if (work == NULL || r->call == NULL)
		abort();
	memcpy(work, c.work, bytes);
	c.work = work;
	r->call[r->n++] = c;
}

void
emulate_run(emulate_blocks *run, size_t n_blocks, size_t n_shared, const void *work, size_t bytes)
{
	const struct call c = { run, n_blocks, n_shared, (void *)(uintptr_t)work };

	mine.n_started++;
	if (n_blocks == 0 || mine.is_skipping)
		return;
	if (mine.recording != NULL)
		keep(mine.recording, c, bytes);
	else
		run_now(&c);
}

size_t
emulate_started(void)
{
	return mine.n_started;
}

void
emulate_record(struct emulate_recording *r)
{
	mine.recording = r;
}

void
emulate_skip(int is_skipping)
{
	mine.is_skipping = is_skipping;
}

void
emulate_replay(const struct emulate_recording *r)
{
	if (mine.memory != NULL)
		emulate_open_all(mine.memory);
	for (size_t i = 0; i < r->n; i++)
		run_now(&r->call[i]);
	emulate_stop();
}

void
emulate_drop(struct emulate_recording *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->call[i].work);
	free(r->call);
	*r = (struct emulate_recording){ .n = 0 };
}

static int
lies_in(const void *p, const void *begin, size_t bytes)
{
	const char *const first = begin;

	return (const char *)p >= first && (const char *)p < first + bytes;
}

/* Memory of its own, or of its GPU. */
static int
is_there(const void *p)
{
	const struct common *const c = mine.memory == NULL ? NULL : &common[mine.memory->device];

	return mine.memory == NULL || lies_in(p, mine.memory->block, mine.memory->bytes)
		|| lies_in(p, mine.shared, sizeof(mine.shared))
		|| (c->block != NULL && lies_in(p, c->block, c->used));
}

/* What is outside is counted; where a view has an element, that is what is touched. */
size_t
emulate_index(const void *p, size_t i, size_t n, const char *file, int line)
{
	if (!is_there(p)) {
		fprintf(stderr, "%s:%d: not memory of the GPU\n", file, line);
		abort();
	}
	if (i < n)
		return i;
	emulate_violate("%s:%d: [%zu] of a view of %zu", file, line, i, n);
	if (n == 0)
		abort();
	return 0;
}

static struct view
fresh(float *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = NAN;
	return (struct view){ p, n };
}

struct view
emulate_shared(size_t n)
{
	emulate_barrier();
	if (n > SHARED_FLOATS)
		emulate_violate("%zu floats of shared memory", n);
	return fresh(mine.shared, n < SHARED_FLOATS ? n : SHARED_FLOATS);
}

/* Where a GPU is emulated, what its plan has. */
float *
emulate_scratch(size_t n)
{
	const struct emulate_memory *m = mine.memory;

	if (m == NULL) {
		free(mine.scratch);
		mine.scratch = malloc(n * sizeof(float));
		return fresh(mine.scratch, n).p;
	}
	if (n > m->scratch_floats)
		emulate_violate("%zu floats of scratch, planned were %zu", n, m->scratch_floats);
	float *const scratch = (float *)(void *)(m->block + m->bytes) - m->scratch_floats;
	if (emulate_start()) {
		fresh(scratch, n < m->scratch_floats ? n : m->scratch_floats);
		emulate_stop();
	}
	return scratch;
}

/* --- threads --------------------------------------------------------------------------- */

unsigned
emulate_each(const char *file, int line)
{
	if (!mine.is_parted)
		emulate_violate("%s:%d: no barrier before", file, line);
	mine.is_parted = 0;
	return 0;
}

void
emulate_barrier(void)
{
	mine.is_parted = 1;
}

size_t
emulate_order(size_t k, size_t n)
{
	return state.is_backwards ? n - 1 - k : k;
}

/* Ten bits of the mantissa, to the nearest. */
static float
tf32_of(float x)
{
	const uint32_t bits = half_bits(x);

	return isfinite(x) ? half_float((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu) : x;
}

struct operand { const float *floats; const uint16_t *brain; int is_tf32; };

static double
value_of(struct operand o, size_t i)
{
	if (o.brain != NULL)
		return half_brain_value(o.brain[i]);
	return o.is_tf32 ? tf32_of(o.floats[i]) : o.floats[i];
}

/* By columns. */
static void
multiply(const struct gemm_args *s, struct operand a, struct operand b)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			double sum = 0;
			for (size_t k = 0; k < s->k; k++)
				sum += value_of(a, s->transpose_a ? k + i * s->lda
						: i + k * s->lda)
					* value_of(b, s->transpose_b ? j + k * s->ldb
						: k + j * s->ldb);
			float *const c = &s->c[i + j * s->ldc];
			*c = (float)(s->alpha * sum + (s->beta == 0 ? 0 : s->beta * *c));
		}
}

struct product_work { struct gemm_args shape; struct operand a, b; };

static void
product_blocks(const void *work, size_t n_blocks, size_t n_shared)
{
	const struct product_work *const w = work;

	(void)n_blocks;
	(void)n_shared;
	multiply(&w->shape, w->a, w->b);
}

static void
multiply_there(const struct gemm_args *a, const void *x, const void *y, int is_brain)
{
	if (!is_there(a->c) || (a->k > 0 && (!is_there(x) || !is_there(y)))) {
		emulate_violate("a product of what is not memory of the GPU");
		return;
	}
	if (mine.memory != NULL && !mine.memory->multiplies)
		emulate_violate("a product in a queue whose plan has none");
	const struct product_work floats = { *a, { .floats = x, .is_tf32 = a->is_tf32 },
		{ .floats = y, .is_tf32 = a->is_tf32 } };
	const struct product_work brain = { *a, { .brain = x }, { .brain = y } };

	emulate_run(product_blocks, 1, 0, is_brain ? &brain : &floats, sizeof(floats));
}

void
gemm_column_emulated(const struct gemm_args *a)
{
	multiply_there(a, a->a, a->b, 0);
}

void
gemm_brain_column_emulated(const struct gemm_args *shape, const uint16_t *a, const uint16_t *b)
{
	multiply_there(shape, a, b, 1);
}
