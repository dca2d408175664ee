/* The scoring library: scores, and what it refuses. */
#include "lib/recsys.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "embed/rows_file.h"
#include "tests/test.h"

#include "recsys_case.h"

static void
text_rows_score_as_the_trainer_says(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const logit = recsys_case_scorer(m, RECSYS_LOGIT);
	struct recsys_scorer *const p = recsys_case_scorer(m, RECSYS_PREDICTION);
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_version(m), 1);
	assert_int_equal(recsys_score_text(logit, c->text, c->n, &out), RECSYS_OK);
	assert_int_equal(out.n, RECSYS_CASE_ROWS);
	assert_int_equal(out.width, 1);
	assert_true(recsys_case_is_right(c, RECSYS_LOGIT, 0, &out));
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		const float z = c->logit[1][i];

		/* Without the line end, too. */
		assert_int_equal(recsys_score_text(p, c->text + c->line[i],
			c->line[i + 1] - c->line[i] - i % 2, &out), RECSYS_OK);
		assert_int_equal(out.n, 1);
		assert_true(recsys_case_near(out.value[0], (float)(1 / (1 + exp(-(double)z)))));
	}
	assert_int_equal(recsys_score_text(p, "", 0, &out), RECSYS_OK);
	assert_int_equal(out.n, 0);
	recsys_scorer_close(logit);
	recsys_case_end(c, m, p);
}

static int
has_rows_by_id(const struct recsys_case *c)
{
	struct file_map m;

	assert_int_equal(file_map_open(&m, recsys_case_file(c, 1, "table-a.0-of-1.bin")), RS_OK);
	const int is_so = rows_file_is(&m);
	file_map_close(&m);
	return is_so;
}

/* Two scorers by turns: each has copies of its own. */
static void
all_kinds_of_table_files_score_as_the_trainer_says(void **state)
{
	static const char *const set[] = { NULL, "embedding.storage=bf16",
		"embedding.storage=fp16" };

	(void)state;
	for (size_t k = 0; k < 2 * N_ROWS(set); k++) {
		struct recsys_case *const c = k & 1 ? recsys_case_make_sparse(set[k / 2])
			: recsys_case_make(set[k / 2]);
		struct recsys *const m = recsys_case_open(c);
		struct recsys_scorer *const s[] = { recsys_case_scorer(m, RECSYS_LOGIT),
			recsys_case_scorer(m, RECSYS_LOGIT) };
		struct recsys_scores out;

		assert_int_equal(has_rows_by_id(c), k & 1);
		for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
			assert_int_equal(recsys_score_text(s[i % 2], c->text + c->line[i],
				c->line[i + 1] - c->line[i], &out), RECSYS_OK);
			assert_true(recsys_case_near(out.value[0], c->logit[1][i]));
		}
		recsys_scorer_close(s[0]);
		recsys_scorer_close(s[1]);
		recsys_close(m);
		recsys_case_free(c);
	}
}

static void
typed_rows_score_as_their_text(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
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
	recsys_case_end(c, m, s);
}

static void
L075_a_field_that_the_model_lacks_is_refused_by_name(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
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
	recsys_case_end(c, m, s);
}

static void
columns_are_found_by_the_names_of_the_header(void **state)
{
	struct recsys_case *const c = recsys_case_make_named();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
	struct recsys_scorer *const other = recsys_case_scorer(m, RECSYS_LOGIT);
	static const char text[] = "u7\t12\tk1\t3\n";
	static const char moved[] = "price\ttags\tclick\tage\tuser\n3\tk1\t1\t12\tu7\n";
	struct recsys_scores out, same;

	(void)state;
	assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
	assert_int_equal(out.n, RECSYS_CASE_ROWS);
	assert_true(recsys_case_is_right(c, RECSYS_LOGIT, 0, &out));
	assert_int_equal(recsys_score_text(s, text, strlen(text), &out), RECSYS_OK);
	assert_int_equal(recsys_score_text(other, moved, strlen(moved), &same), RECSYS_OK);
	assert_int_equal(out.n, 1);
	assert_int_equal(same.n, 1);
	assert_true(out.value[0] == same.value[0]);
	/* The columns stay what the first text said, over a reload too. */
	recsys_case_name(c, 2);
	assert_int_equal(recsys_reload(m, NULL), RECSYS_OK);
	assert_int_equal(recsys_score_text(s, c->text + c->line[0], c->n - c->line[0], &out),
		RECSYS_OK);
	assert_int_equal(out.version, 2);
	assert_true(recsys_case_is_right(c, RECSYS_LOGIT, 0, &out));
	recsys_scorer_close(s);
	recsys_case_end(c, m, other);
}

static void
L075_a_renamed_column_is_refused_by_name(void **state)
{
	struct recsys_case *const c = recsys_case_make_named();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
	static const char renamed[] = "user\tage\ttags\tcost\nu7\t12\tk1\t3\n";
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_score_text(s, renamed, strlen(renamed), &out), RECSYS_EDATA);
	assert_int_equal(out.n, 0);
	assert_non_null(strstr(recsys_error(), "'price'"));
	/* The scorer has seen no header so far. */
	assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
	assert_true(recsys_case_is_right(c, RECSYS_LOGIT, 0, &out));
	recsys_case_end(c, m, s);
}

static void
a_bad_row_is_nan_and_named_and_the_others_score(void **state)
{
	struct recsys_case *const c = recsys_case_make(NULL);
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *s = recsys_case_scorer(m, RECSYS_LOGIT);
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
	static const char *const name[] = {
		"dense.bin", "spec.ini", "table-a.0-of-1.bin", "MANIFEST",
	};
	struct recsys *m;

	(void)state;
	for (size_t i = 0; i < N_ROWS(name); i++) {
		struct recsys_case *const c = recsys_case_make(NULL);
		const char *const path = recsys_case_file(c, 1, name[i]);

		flip(path, 100);
		refused(c, name[i]);
		flip(path, 100);
		recsys_close(recsys_case_open(c));
		assert_int_equal(truncate(path, 300), 0);
		refused(c, name[i]);
		/* What is open stays so. */
		recsys_case_name(c, 2);
		m = recsys_case_open(c);
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
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_LOGIT);
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		const int code = recsys_case_line(c, s, i, &out);

		if (code == RECSYS_OK) {
			assert_true(recsys_case_is_right(c, RECSYS_LOGIT, i, &out));
			n_sound++;
			continue;
		}
		assert_int_equal(code, RECSYS_EDATA);
		assert_non_null(strstr(recsys_error(),
			"v000001/table-a.0-of-1.bin: damaged: CRC of bytes 2097152 to 3145727"));
		n_damaged++;
	}
	assert_true(n_sound > 50 && n_damaged > 10);
	recsys_case_end(c, m, s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_rows_score_as_the_trainer_says),
		cmocka_unit_test(all_kinds_of_table_files_score_as_the_trainer_says),
		cmocka_unit_test(typed_rows_score_as_their_text),
		cmocka_unit_test(L075_a_field_that_the_model_lacks_is_refused_by_name),
		cmocka_unit_test(columns_are_found_by_the_names_of_the_header),
		cmocka_unit_test(L075_a_renamed_column_is_refused_by_name),
		cmocka_unit_test(a_bad_row_is_nan_and_named_and_the_others_score),
		cmocka_unit_test(damage_is_refused_by_name),
		cmocka_unit_test(a_mib_of_a_table_is_compared_when_a_row_in_it_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
