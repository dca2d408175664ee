/*
 * The steady state of the scoring library: no allocation.  malloc and its kin are
 * replaced by counting ones.
 */
#include "lib/recsys.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/test.h"

#include "recsys_case.h"

#define ROUNDS 50

static atomic_size_t n_allocations;

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_COUNT 1

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

void *
malloc(size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_realloc(p, n);
}

void *
aligned_alloc(size_t alignment, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_memalign(alignment, n);
}

int
posix_memalign(void **out, size_t alignment, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	*out = __libc_memalign(alignment, n);
	return *out != NULL ? 0 : ENOMEM;
}
#else
#define CAN_COUNT 0
#endif

/* All rows at once, then each alone, as text; a row of values; a bad row. */
static void
score_all(struct recsys_scorer *s, const struct recsys_case *c)
{
	static const struct recsys_value value[] = {
		{ .field = "a", .text = "u7", .n_text = 2 },
		{ .field = "b", .type = RECSYS_INT, .integer = 12 },
		{ .field = "m", .text = "k1", .n_text = 2 },
		{ .field = "m", .text = "k2", .n_text = 2 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = 3.5 },
	};
	const struct recsys_row row[] = { { value, N_ROWS(value) }, { value, 1 } };
	struct recsys_scores out;

	assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++)
		assert_int_equal(recsys_score_text(s, c->text + c->line[i],
			c->line[i + 1] - c->line[i], &out), RECSYS_OK);
	assert_int_equal(recsys_score_rows(s, row, 2, &out), RECSYS_OK);
	assert_int_equal(recsys_score_text(s, "u1\n", 3, &out), RECSYS_EPARTIAL);
}

static void
scoring_does_not_allocate_once_it_is_warm(void **state)
{
	struct recsys_scorer *s;
	struct recsys *m;

	(void)state;
	if (!CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	struct recsys_case *const c = recsys_case_make(NULL);
	assert_int_equal(recsys_open(c->directory, &m), RECSYS_OK);
	assert_int_equal(recsys_scorer_open(m, RECSYS_PREDICTION, &s), RECSYS_OK);
	for (int i = 0; i < 3; i++)
		score_all(s, c);
	const size_t before = atomic_load(&n_allocations);
	for (int i = 0; i < ROUNDS; i++)
		score_all(s, c);
	assert_int_equal(atomic_load(&n_allocations), before);
	/* The count would notice one. */
	recsys_case_name(c, 2);
	assert_int_equal(recsys_reload(m, NULL), RECSYS_OK);
	score_all(s, c);
	assert_true(atomic_load(&n_allocations) > before);
	recsys_scorer_close(s);
	recsys_close(m);
	recsys_case_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scoring_does_not_allocate_once_it_is_warm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
