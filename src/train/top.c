/* The K best of n vectors for each of U others. */
#include "train/top.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define USER_BLOCK   512
#define ITEM_BLOCK   512
#define LIST_MIN     512
#define LISTS_BYTES  ((size_t)256 << 20)   /* of one thread, when K is large       */
#define SCAN         32                    /* scores looked at together            */

/* What may still be among the best of a user. */
struct candidate { float score; uint32_t number; };

struct list {
	struct candidate *item;        /* [capacity]                                  */
	size_t n, capacity;
	float  threshold;              /* below it nothing is a candidate             */
	float  margin;                 /* how far two scores of one pair may differ   */
	const uint32_t *masked, *masked_end;   /* not yet passed                      */
};

struct job {
	const struct top_input *in;
	size_t user_block, item_block;
	double longest;                /* norm of an item                             */
	atomic_size_t next;            /* block of users                              */
};

struct search {
	const struct job *job;
	struct list *list;             /* [user_block]                                */
	float *score;                  /* [user_block,item_block]                     */
	float *scratch;                /* of a product                                */
	float *pick;                   /* [pick_capacity]                             */
	struct top_item *best;         /* [best_capacity]                             */
	size_t pick_capacity, best_capacity;
};

static double
norm(const float *x, size_t D)
{
	double sum = 0;

	for (size_t d = 0; d < D; d++)
		sum += (double)x[d] * x[d];
	return sqrt(sum);
}

static double
dot(const float *x, const float *y, size_t D)
{
	double sum = 0;

	for (size_t d = 0; d < D; d++)
		sum += (double)x[d] * y[d];
	return sum;
}

/* --- candidates ------------------------------------------------------------- */

/* The k-th largest (from 1) of n values, which are put in another order. */
static float
select_largest(float *x, size_t n, size_t k)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)n - 1;
	const ptrdiff_t target = (ptrdiff_t)k - 1;

	while (low < high) {
		const float pivot = x[low + (high - low) / 2];
		ptrdiff_t i = low, j = high;

		while (i <= j) {
			while (x[i] > pivot)
				i++;
			while (x[j] < pivot)
				j--;
			if (i > j)
				break;
			const float swap = x[i];
			x[i++] = x[j];
			x[j--] = swap;
		}
		if (target <= j)
			high = j;
		else if (target >= i)
			low = i;
		else
			break;
	}
	return x[target];
}

static enum rs_status
grow_list(struct list *l)
{
	struct candidate *const grown = realloc(l->item, 2 * l->capacity * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu candidates", 2 * l->capacity);
	l->item = grown;
	l->capacity *= 2;
	return RS_OK;
}

static enum rs_status
reserve(void *array, size_t *capacity, size_t n, size_t size)
{
	void *old;

	if (n <= *capacity)
		return RS_OK;
	memcpy(&old, array, sizeof old);
	void *const grown = realloc(old, n * size);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu candidates", n);
	memcpy(array, &grown, sizeof grown);
	*capacity = n;
	return RS_OK;
}

/* Lets go of what cannot be among the K best any more. */
static enum rs_status
compact(struct search *s, struct list *l)
{
	const size_t K = s->job->in->K;
	size_t n = 0;

	if (l->n <= K)
		return RS_OK;
	RS_TRY(reserve(&s->pick, &s->pick_capacity, l->n, sizeof *s->pick));
	for (size_t i = 0; i < l->n; i++)
		s->pick[i] = l->item[i].score;
	l->threshold = select_largest(s->pick, l->n, K) - l->margin;
	for (size_t i = 0; i < l->n; i++)
		if (l->item[i].score >= l->threshold)
			l->item[n++] = l->item[i];
	l->n = n;
	return RS_OK;
}

static enum rs_status
add_candidate(struct search *s, struct list *l, float score, size_t number)
{
	if (l->n == l->capacity) {
		RS_TRY(compact(s, l));
		if (2 * l->n > l->capacity)
			RS_TRY(grow_list(l));
		if (score < l->threshold)
			return RS_OK;
	}
	l->item[l->n++] = (struct candidate){ score, (uint32_t)number };
	return RS_OK;
}

static int
any_reaches(const float *score, float threshold)
{
	int any = 0;

	for (size_t i = 0; i < SCAN; i++)
		any |= score[i] >= threshold;
	return any;
}

static enum rs_status
scan(struct search *s, struct list *l, const float *score, size_t n, size_t first)
{
	for (size_t i = 0; i < n; i += SCAN) {
		const size_t end = i + SCAN < n ? i + SCAN : n;

		if (end == i + SCAN && !any_reaches(score + i, l->threshold))
			continue;
		for (size_t j = i; j < end; j++)
			if (score[j] >= l->threshold)
				RS_TRY(add_candidate(s, l, score[j], first + j));
	}
	return RS_OK;
}

/* --- one block of users --------------------------------------------------------- */

static void
mask(struct list *l, float *score, size_t n, size_t first)
{
	for (; l->masked < l->masked_end && *l->masked < first + n; l->masked++)
		score[*l->masked - first] = -INFINITY;
}

static enum rs_status
search_items(struct search *s, size_t first_user, size_t n_users)
{
	const struct top_input *const in = s->job->in;
	const size_t block = s->job->item_block;

	for (size_t first = 0; first < in->n; first += block) {
		const size_t n = in->n - first < block ? in->n - first : block;
		const struct gemm_args a = {
			.transpose_b = 1, .m = n_users, .n = n, .k = in->D, .alpha = 1,
			.a = in->user + first_user * in->D, .lda = in->D,
			.b = in->item + first * in->D, .ldb = in->D, .c = s->score, .ldc = block,
			.scratch = s->scratch,
		};

		in->kernel->gemm(&a);
		for (size_t u = 0; u < n_users; u++) {
			mask(&s->list[u], s->score + u * block, n, first);
			RS_TRY(scan(s, &s->list[u], s->score + u * block, n, first));
		}
	}
	return RS_OK;
}

static int
compare_items(const void *a, const void *b)
{
	const struct top_item *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static enum rs_status
give(struct search *s, struct list *l, size_t user)
{
	const struct top_input *const in = s->job->in;

	RS_TRY(compact(s, l));
	RS_TRY(reserve(&s->best, &s->best_capacity, l->n, sizeof *s->best));
	for (size_t i = 0; i < l->n; i++) {
		const uint32_t number = l->item[i].number;

		s->best[i] = (struct top_item){ dot(in->user + user * in->D,
			in->item + number * in->D, in->D), number };
	}
	if (l->n > 1)
		qsort(s->best, l->n, sizeof *s->best, compare_items);
	in->take(in->context, user, s->best, l->n < in->K ? l->n : in->K);
	return RS_OK;
}

/* Each of the D products and sums of a score rounds by 2^-24 of |u| |v| at most; a
 * difference of two scores sees that four times. */
static void
begin_list(const struct job *job, struct list *l, size_t user)
{
	const struct top_input *const in = job->in;
	const double length = norm(in->user + user * in->D, in->D) * job->longest;

	l->n = 0;
	l->threshold = -FLT_MAX;
	l->margin = (float)(4 * ((double)in->D + 4) * 0x1p-24 * length);
	l->masked = l->masked_end = NULL;
	if (in->masked != NULL) {
		l->masked = in->masked + in->masked_begin[user];
		l->masked_end = in->masked + in->masked_begin[user + 1];
	}
}

static enum rs_status
search_block(struct search *s, size_t block)
{
	const size_t first = block * s->job->user_block, rest = s->job->in->U - first;
	const size_t n = rest < s->job->user_block ? rest : s->job->user_block;

	for (size_t u = 0; u < n; u++)
		begin_list(s->job, &s->list[u], first + u);
	RS_TRY(search_items(s, first, n));
	for (size_t u = 0; u < n; u++)
		RS_TRY(give(s, &s->list[u], first + u));
	return RS_OK;
}

/* --- threads ---------------------------------------------------------------------- */

static size_t
list_start(const struct top_input *in)
{
	const size_t wanted = 4 * in->K > LIST_MIN ? 4 * in->K : LIST_MIN;

	return in->K < in->n && wanted < in->n ? wanted : in->n;
}

static enum rs_status
search_init(struct search *s, const struct job *job)
{
	*s = (struct search){ .job = job };
	RS_TRY(memory_alloc(job->user_block, sizeof *s->list, &s->list));
	RS_TRY(memory_alloc(job->user_block * job->item_block, sizeof *s->score, &s->score));
	RS_TRY(memory_alloc(KERNEL_GEMM_SCRATCH, sizeof *s->scratch, &s->scratch));
	for (size_t u = 0; u < job->user_block; u++) {
		s->list[u].capacity = list_start(job->in);
		RS_TRY(memory_alloc(s->list[u].capacity, sizeof *s->list[u].item,
			&s->list[u].item));
	}
	return RS_OK;
}

static void
search_free(struct search *s)
{
	for (size_t u = 0; s->list != NULL && u < s->job->user_block; u++)
		free(s->list[u].item);
	free(s->list);
	free(s->score);
	free(s->scratch);
	free(s->pick);
	free(s->best);
}

static enum rs_status
search_some(void *context, size_t worker)
{
	struct job *const job = context;
	struct search s;
	enum rs_status status = search_init(&s, job);
	size_t block;

	(void)worker;
	while (status == RS_OK && (block = atomic_fetch_add(&job->next, 1))
	    < (job->in->U + job->user_block - 1) / job->user_block)
		status = search_block(&s, block);
	search_free(&s);
	return status;
}

/* Blocks of users small enough that each thread has some and the lists fit. */
static size_t
choose_users(const struct top_input *in, size_t n_threads)
{
	const size_t share = (in->U + 2 * n_threads - 1) / (2 * n_threads);
	const size_t fit = LISTS_BYTES / (2 * list_start(in) * sizeof(struct candidate));
	size_t users = share < USER_BLOCK ? share : USER_BLOCK;

	users = users < fit ? users : fit;
	return users > 0 ? users : 1;
}

enum rs_status
top_run(const struct top_input *in, struct workers *workers)
{
	const size_t n_threads = workers != NULL ? workers_count(workers) : 1;
	struct job job = {
		.in = in, .item_block = in->item_block > 0 ? in->item_block : ITEM_BLOCK,
		.user_block = in->user_block,
	};

	assert(in->n > 0 && in->K > 0 && in->n < UINT32_MAX);
	if (job.user_block == 0)
		job.user_block = choose_users(in, n_threads);
	if (job.item_block > in->n)
		job.item_block = in->n;
	for (size_t i = 0; i < in->n; i++)
		job.longest = fmax(job.longest, norm(in->item + i * in->D, in->D));
	return workers != NULL ? workers_run(workers, search_some, &job) : search_some(&job, 0);
}
