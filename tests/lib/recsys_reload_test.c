/* The scoring library: a model is reloaded while threads score. */
#include "lib/recsys.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/test.h"

#include "recsys_case.h"

#define N_THREADS 4
#define N_RELOADS 100
#define N_WARM    20               /* reloads until memory has to be flat         */
#define SLACK     ((size_t)1 << 20)
/* A scorer's activations lie in a huge page or in small ones, as the system has them; for
 * a moment there are two of a thread. */
#define HUGE_SLACK (N_THREADS * ((size_t)4 << 20))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_MEASURE 0
#else
#define CAN_MEASURE 1
#endif

struct load {
	struct recsys_case *c;
	struct recsys *m;
	atomic_int stop;
	atomic_size_t n_scored, n_wrong, n_of[3];
};

struct thread {
	pthread_t id;
	struct load *load;
	enum recsys_output output;
};

/* Single rows, and now and then three. */
static void *
score_rows(void *context)
{
	const struct thread *const t = context;
	struct load *const l = t->load;
	struct recsys_scorer *const s = recsys_case_scorer(l->m, t->output);
	const size_t *const line = l->c->line;
	struct recsys_scores out;

	for (size_t i = 0; !atomic_load(&l->stop); i = (i + 7) % RECSYS_CASE_ROWS) {
		const size_t end = i % 5 == 0 && i + 3 < RECSYS_CASE_ROWS ? i + 3 : i + 1;
		const int code = recsys_score_text(
			s, l->c->text + line[i], line[end] - line[i], &out);

		if (code != RECSYS_OK || out.n != end - i
		    || !recsys_case_is_right(l->c, t->output, i, &out)) {
			atomic_fetch_add(&l->n_wrong, 1);
			continue;
		}
		atomic_fetch_add(&l->n_of[out.version], 1);
		atomic_fetch_add(&l->n_scored, 1);
	}
	recsys_scorer_close(s);
	return NULL;
}

static size_t
count_maps(void)
{
	FILE *const f = fopen("/proc/self/maps", "r");
	size_t n = 0;

	assert_non_null(f);
	for (char line[512]; fgets(line, sizeof line, f) != NULL;)
		n += strstr(line, "/table-") != NULL;
	fclose(f);
	return n;
}

/* Memory that is not of files, in bytes. */
static size_t
resident(void)
{
	FILE *const f = fopen("/proc/self/status", "r");
	unsigned long long kb = 0;

	assert_non_null(f);
	for (char line[256]; kb == 0 && fgets(line, sizeof line, f) != NULL;)
		sscanf(line, "RssAnon: %llu", &kb);
	fclose(f);
	assert_true(kb > 0);
	return (size_t)kb << 10;
}

static size_t
allocated(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

struct memory { size_t resident, allocated; };

/* The most of either. */
static void
take_memory(struct memory *m)
{
	const struct memory now = { resident(), allocated() };

	m->resident = now.resident > m->resident ? now.resident : m->resident;
	m->allocated = now.allocated > m->allocated ? now.allocated : m->allocated;
}

static void
reload(struct load *l, uint64_t version)
{
	const size_t before = atomic_load(&l->n_scored);
	int changed;

	recsys_case_name(l->c, version);
	if (recsys_reload(l->m, &changed) != RECSYS_OK)
		fail_msg("%s", recsys_error());
	assert_int_equal(changed, 1);
	assert_int_equal(recsys_version(l->m), version);
	WAIT_UNTIL(atomic_load(&l->n_scored) >= before + 20 || atomic_load(&l->n_wrong) != 0, 60);
}

static void
reload_often(struct load *l)
{
	struct memory first = { 0, 0 }, later = { 0, 0 };

	for (size_t i = 0; i < N_RELOADS; i++) {
		reload(l, 2 - i % 2);
		take_memory(i < N_WARM ? &first : &later);
	}
	if (CAN_MEASURE && later.resident > first.resident + HUGE_SLACK)
		fail_msg("resident %zu bytes, then %zu", first.resident, later.resident);
	if (CAN_MEASURE && later.allocated > first.allocated + SLACK)
		fail_msg("allocated %zu bytes, then %zu", first.allocated, later.allocated);
}

static void
check_load(struct recsys_case *c, const enum recsys_output output[N_THREADS])
{
	struct load l = { .c = c, .m = recsys_case_open(c) };
	struct thread thread[N_THREADS];
	const size_t maps = count_maps();
	int changed;

	for (size_t t = 0; t < N_THREADS; t++) {
		thread[t].load = &l;
		thread[t].output = output[t];
		assert_int_equal(pthread_create(&thread[t].id, NULL, score_rows, &thread[t]), 0);
	}
	reload_often(&l);
	atomic_store(&l.stop, 1);
	for (size_t t = 0; t < N_THREADS; t++)
		pthread_join(thread[t].id, NULL);
	assert_int_equal(atomic_load(&l.n_wrong), 0);
	assert_true(atomic_load(&l.n_of[1]) > 0 && atomic_load(&l.n_of[2]) > 0);
	assert_int_equal(recsys_reload(l.m, &changed), RECSYS_OK);
	assert_int_equal(changed, 0);
	/* One version is open, as at first. */
	assert_int_equal(count_maps(), maps);
	recsys_close(l.m);
	assert_int_equal(count_maps(), 0);
}

static void
four_threads_score_right_while_the_model_is_reloaded(void **state)
{
	static const enum recsys_output output[N_THREADS] = {
		RECSYS_LOGIT, RECSYS_LOGIT, RECSYS_LOGIT, RECSYS_LOGIT,
	};
	struct recsys_case *const c = recsys_case_make(NULL);

	(void)state;
	check_load(c, output);
	recsys_case_free(c);
}

static void
vectors_and_logits_of_two_towers_are_right_while_the_model_is_reloaded(void **state)
{
	static const enum recsys_output output[N_THREADS] = {
		RECSYS_LOGIT, RECSYS_USER, RECSYS_ITEM, RECSYS_USER,
	};
	struct recsys_case *const c = recsys_case_make_towers();

	(void)state;
	check_load(c, output);
	recsys_case_free(c);
}

/* The allocator counts what it keeps for later as given out, some 10 to 20 kB in the end;
 * that is less than 300 bytes a version. */
static void
a_version_that_is_left_leaves_nothing(void **state)
{
	enum { ROUNDS = 60, KEPT = 32 << 10 };
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
	struct recsys_scores out;
	size_t first = 0;

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		for (uint64_t version = 2; version > 0; version--) {
			recsys_case_name(c, version);
			assert_int_equal(recsys_reload(m, NULL), RECSYS_OK);
			assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
			assert_int_equal(out.version, version);
		}
		first = i == 1 ? allocated() : first;
	}
	if (CAN_MEASURE && allocated() > first + KEPT)
		fail_msg("allocated %zu bytes, then %zu", first, allocated());
	recsys_case_end(c, m, s);
}

static void *
open_and_score(void *context)
{
	struct load *const l = context;

	for (size_t i = 0; i < 5; i++) {
		struct recsys *const m = recsys_case_open(l->c);
		struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
		struct recsys_scores out;

		if (recsys_score_text(s, l->c->text, l->c->n, &out) != RECSYS_OK
		    || !recsys_case_is_right(l->c, RECSYS_LOGIT, 0, &out))
			atomic_fetch_add(&l->n_wrong, 1);
		atomic_fetch_add(&l->n_scored, 1);
		recsys_scorer_close(s);
		recsys_close(m);
	}
	return NULL;
}

static void
four_threads_open_models_of_their_own(void **state)
{
	struct load l = { .c = recsys_case_make(NULL) };
	pthread_t id[N_THREADS];

	(void)state;
	for (size_t t = 0; t < N_THREADS; t++)
		assert_int_equal(pthread_create(&id[t], NULL, open_and_score, &l), 0);
	for (size_t t = 0; t < N_THREADS; t++)
		pthread_join(id[t], NULL);
	assert_int_equal(atomic_load(&l.n_wrong), 0);
	assert_int_equal(atomic_load(&l.n_scored), 5 * N_THREADS);
	recsys_case_free(l.c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_threads_score_right_while_the_model_is_reloaded),
		cmocka_unit_test(
			vectors_and_logits_of_two_towers_are_right_while_the_model_is_reloaded),
		cmocka_unit_test(four_threads_open_models_of_their_own),
		cmocka_unit_test(a_version_that_is_left_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
