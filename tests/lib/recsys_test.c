/* The scoring library: scores, damage, and reloads under load. */
#include "lib/recsys.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

#include "recsys_case.h"

#define N_THREADS 4
#define N_RELOADS 100
#define NEAR      2e-5

static int
near(float x, float y)
{
	return fabs((double)x - (double)y) <= NEAR * (1 + fabs((double)y));
}

static struct recsys *
open_model(const char *path)
{
	struct recsys *m;

	if (recsys_open(path, &m) != RECSYS_OK)
		fail_msg("%s", recsys_error());
	return m;
}

static struct recsys_scorer *
open_scorer(struct recsys *m, enum recsys_output output)
{
	struct recsys_scorer *s;

	if (recsys_scorer_open(m, output, &s) != RECSYS_OK)
		fail_msg("%s", recsys_error());
	return s;
}

static void
text_rows_score_as_the_trainer_says(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = open_model(c->directory);
	struct recsys_scorer *const logit = open_scorer(m, RECSYS_LOGIT);
	struct recsys_scorer *const p = open_scorer(m, RECSYS_PREDICTION);
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_version(m), 1);
	assert_int_equal(recsys_score_text(logit, c->text, c->n, &out), RECSYS_OK);
	assert_int_equal(out.n, RECSYS_CASE_ROWS);
	assert_int_equal(out.width, 1);
	for (size_t i = 0; i < out.n; i++)
		assert_true(near(out.value[i], c->logit[1][i]));
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		const float z = c->logit[1][i];

		/* Without the line end, too. */
		assert_int_equal(recsys_score_text(p, c->text + c->line[i],
			c->line[i + 1] - c->line[i] - i % 2, &out), RECSYS_OK);
		assert_int_equal(out.n, 1);
		assert_true(near(out.value[0], (float)(1 / (1 + exp(-(double)z)))));
	}
	assert_int_equal(recsys_score_text(p, "", 0, &out), RECSYS_OK);
	assert_int_equal(out.n, 0);
	recsys_scorer_close(logit);
	recsys_scorer_close(p);
	recsys_close(m);
	recsys_case_free(c);
}

static void
typed_rows_score_as_their_text(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = open_model(c->directory);
	struct recsys_scorer *const s = open_scorer(m, RECSYS_LOGIT);
	static const char text[] = "u7\t12\tk1|k2\t3\n\t-5\t\t\nu7\t\tk9\t2.5";
	const struct recsys_value value[] = {
		{ .field = "a", .text = "u7", .n_text = 2 },
		{ .field = "b", .type = RECSYS_INT, .integer = 12 },
		{ .field = "m", .text = "k1", .n_text = 2 },
		{ .field = "m", .text = "k2", .n_text = 2 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = 3 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = (double)NAN },
		{ .field = "b", .type = RECSYS_INT, .integer = -5 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = 2.5 },
		{ .field = "m", .text = "k9", .n_text = 2 },
		{ .field = "a", .text = "u7", .n_text = 2 },
	};
	const struct recsys_row row[] = { { value, 5 }, { value + 5, 2 }, { value + 7, 3 } };
	struct recsys_scores out;
	float want[3];

	(void)state;
	assert_int_equal(recsys_score_text(s, text, strlen(text), &out), RECSYS_OK);
	assert_int_equal(out.n, 3);
	memcpy(want, out.value, sizeof want);
	assert_int_equal(recsys_score_rows(s, row, 3, &out), RECSYS_OK);
	assert_int_equal(out.n, 3);
	assert_memory_equal(out.value, want, sizeof want);
	recsys_scorer_close(s);
	recsys_close(m);
	recsys_case_free(c);
}

static void
L075_a_field_that_the_model_lacks_is_refused_by_name(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = open_model(c->directory);
	struct recsys_scorer *const s = open_scorer(m, RECSYS_LOGIT);
	const struct recsys_value value[] = {
		{ .field = "renamed", .text = "u7", .n_text = 2 },
		{ .field = "x", .text = "seven", .n_text = 5 },
		{ .field = "b", .type = RECSYS_NUMBER, .number = 0.5 },
	};
	struct recsys_row row = { value, 1 };
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_score_rows(s, &row, 1, &out), RECSYS_EUSAGE);
	assert_non_null(strstr(recsys_error(), "no field 'renamed'"));
	/* Of another type. */
	row.value = &value[1];
	assert_int_equal(recsys_score_rows(s, &row, 1, &out), RECSYS_EPARTIAL);
	assert_non_null(strstr(recsys_error(), "field 'x': 'seven' is not a number"));
	row.value = &value[2];
	assert_int_equal(recsys_score_rows(s, &row, 1, &out), RECSYS_EPARTIAL);
	assert_non_null(strstr(recsys_error(), "field 'b'"));
	/* Text without its column. */
	assert_int_equal(recsys_score_text(s, "u1\t2\n", 5, &out), RECSYS_EDATA);
	assert_non_null(strstr(recsys_error(), "column 5"));
	recsys_scorer_close(s);
	recsys_close(m);
	recsys_case_free(c);
}

static void
a_bad_row_is_nan_and_named_and_the_others_score(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = open_model(c->directory);
	struct recsys_scorer *s = open_scorer(m, RECSYS_LOGIT);
	static const char text[] = "u7\t12\tk1\t3\nu7\t12\tk1\tabc\nu7\t12\tk1\t3\n";
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_score_text(s, text, strlen(text), &out), RECSYS_EPARTIAL);
	assert_non_null(strstr(recsys_error(), "text:2:"));
	assert_non_null(strstr(recsys_error(), "'abc' is not a number"));
	assert_int_equal(out.n, 3);
	assert_true(isfinite(out.value[0]) && isnan(out.value[1]));
	assert_true(out.value[2] == out.value[0]);
	assert_int_equal(recsys_score_text(s, text, 11, &out), RECSYS_OK);
	assert_string_equal(recsys_error(), "");
	recsys_scorer_close(s);
	assert_int_equal(recsys_scorer_open(m, RECSYS_USER, &s), RECSYS_EUSAGE);
	assert_non_null(strstr(recsys_error(), "no towers"));
	assert_null(s);
	recsys_close(m);
	recsys_case_free(c);
}

static void
flip(const char *path, long at)
{
	FILE *const f = fopen(path, "r+b");

	assert_non_null(f);
	fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
	const int byte = fgetc(f);
	fseek(f, -1, SEEK_CUR);
	fputc(byte ^ 4, f);
	assert_int_equal(fclose(f), 0);
}

static void
refused(const struct recsys_case *c, const char *name)
{
	struct recsys *m;

	assert_int_equal(recsys_open(c->directory, &m), RECSYS_EDATA);
	assert_null(m);
	if (strstr(recsys_error(), name) == NULL || strstr(recsys_error(), "damaged") == NULL)
		fail_msg("no '%s' in: %s", name, recsys_error());
}

static void
damage_is_refused_by_name(void **state)
{
	static const char *const name[] = { "dense.bin", "spec.ini", "table-a.0-of-1.bin" };
	struct recsys *m;

	(void)state;
	for (size_t i = 0; i < N_ROWS(name); i++) {
		struct recsys_case *const c = recsys_case_make(NULL);
		const char *const path = recsys_case_file(c, 1, name[i]);

		flip(path, 100);
		refused(c, name[i]);
		flip(path, 100);
		recsys_close(open_model(c->directory));
		assert_int_equal(truncate(path, 300), 0);
		refused(c, name[i]);
		/* What is open stays so. */
		recsys_case_name(c, 2);
		m = open_model(c->directory);
		recsys_case_name(c, 1);
		assert_int_equal(recsys_reload(m, NULL), RECSYS_EDATA);
		assert_non_null(strstr(recsys_error(), name[i]));
		assert_int_equal(recsys_version(m), 2);
		recsys_close(m);
		recsys_case_free(c);
	}
	assert_int_equal(recsys_open("/nowhere/at/all", &m), RECSYS_ENOINPUT);
	assert_non_null(strstr(recsys_error(), "/nowhere/at/all"));
}

/* Of a table of several MiB only what is wanted is looked at. */
static void
a_mib_of_a_table_is_compared_when_a_row_in_it_is_wanted(void **state)
{
	struct recsys_case *const c = recsys_case_make("field a.buckets=300000");
	struct recsys_scores out;
	size_t n_sound = 0, n_damaged = 0;

	(void)state;
	/* Weights are 4.8 MB. */
	flip(recsys_case_file(c, 1, "table-a.0-of-1.bin"), 2 << 20 | 5000);
	struct recsys *const m = open_model(c->directory);
	struct recsys_scorer *const s = open_scorer(m, RECSYS_LOGIT);
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		const int code = recsys_score_text(
			s, c->text + c->line[i], c->line[i + 1] - c->line[i], &out);

		if (code == RECSYS_OK) {
			assert_true(near(out.value[0], c->logit[1][i]));
			n_sound++;
			continue;
		}
		assert_int_equal(code, RECSYS_EDATA);
		assert_non_null(strstr(recsys_error(),
			"v000001/table-a.0-of-1.bin: damaged: CRC of bytes 2097152 to 3145727"));
		n_damaged++;
	}
	assert_true(n_sound > 50 && n_damaged > 10);
	recsys_scorer_close(s);
	recsys_close(m);
	recsys_case_free(c);
}

struct load {
	struct recsys_case *c;
	struct recsys *m;
	atomic_int stop;
	atomic_size_t n_scored, n_wrong, n_of[3];
};

static void *
score_rows(void *context)
{
	struct load *const l = context;
	struct recsys_scorer *const s = open_scorer(l->m, RECSYS_LOGIT);
	const size_t *const line = l->c->line;
	struct recsys_scores out;

	for (size_t i = 0; !atomic_load(&l->stop); i = (i + 7) % RECSYS_CASE_ROWS) {
		const size_t end = i % 5 == 0 && i + 3 < RECSYS_CASE_ROWS ? i + 3 : i + 1;
		const int code = recsys_score_text(
			s, l->c->text + line[i], line[end] - line[i], &out);

		if (code != RECSYS_OK || out.n != end - i) {
			atomic_fetch_add(&l->n_wrong, 1);
			continue;
		}
		for (size_t k = 0; k < out.n; k++)
			if (!near(out.value[k], l->c->logit[out.version][i + k]))
				atomic_fetch_add(&l->n_wrong, 1);
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

static void
four_threads_score_right_while_the_model_is_reloaded(void **state)
{
	struct load l = { .c = recsys_case_make(NULL) };
	pthread_t thread[N_THREADS];
	int changed;

	(void)state;
	l.m = open_model(l.c->directory);
	const size_t maps = count_maps();
	for (size_t t = 0; t < N_THREADS; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, score_rows, &l), 0);
	for (size_t i = 0; i < N_RELOADS; i++) {
		const size_t before = atomic_load(&l.n_scored);

		recsys_case_name(l.c, 2 - i % 2);
		if (recsys_reload(l.m, &changed) != RECSYS_OK)
			fail_msg("%s", recsys_error());
		assert_int_equal(changed, 1);
		assert_int_equal(recsys_version(l.m), 2 - i % 2);
		WAIT_UNTIL(atomic_load(&l.n_scored) >= before + 20
			|| atomic_load(&l.n_wrong) > 0, 60);
	}
	atomic_store(&l.stop, 1);
	for (size_t t = 0; t < N_THREADS; t++)
		pthread_join(thread[t], NULL);
	assert_int_equal(atomic_load(&l.n_wrong), 0);
	assert_true(atomic_load(&l.n_of[1]) > 0 && atomic_load(&l.n_of[2]) > 0);
	assert_int_equal(recsys_reload(l.m, &changed), RECSYS_OK);
	assert_int_equal(changed, 0);
	/* One version is open, as at first. */
	assert_int_equal(count_maps(), maps);
	recsys_close(l.m);
	assert_int_equal(count_maps(), 0);
	recsys_case_free(l.c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_rows_score_as_the_trainer_says),
		cmocka_unit_test(typed_rows_score_as_their_text),
		cmocka_unit_test(L075_a_field_that_the_model_lacks_is_refused_by_name),
		cmocka_unit_test(a_bad_row_is_nan_and_named_and_the_others_score),
		cmocka_unit_test(damage_is_refused_by_name),
		cmocka_unit_test(a_mib_of_a_table_is_compared_when_a_row_in_it_is_wanted),
		cmocka_unit_test(four_threads_score_right_while_the_model_is_reloaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
