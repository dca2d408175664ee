/* The first pass: its figures are those of the column, and stay in the spec. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/fit.h"
#include "tests/data/loader_bed.h"
#include "tests/test.h"

#define N 5000u

/* A label, a number with a large offset, a missing share, and a ramp. */
static void
write_numbers(const char *name)
{
	struct buffer text;

	buffer_init(&text, 1 << 20);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(buffer_printf(&text, "%u\t", (unsigned)(i % 2)), RS_OK);
		if (i % 10 != 0)
			assert_int_equal(buffer_printf(&text, "%.3f",
				10000 + 3 * rng_normal(17, i)), RS_OK);
		assert_int_equal(buffer_printf(&text, "\t%u\t7\n",
			(unsigned)rng_permute(19, N, i)), RS_OK);
	}
	bed_write_text(name, text.data, text.n);
	buffer_free(&text);
}

static struct spec *
load(const char *fields)
{
	const char *layer = bed_path("fit.ini");
	const struct spec_input input = { .layer = &layer, .n_layers = 1 };
	char text[2048];
	struct spec *spec;

	(void)snprintf(text, sizeof text, "[model]\ntype = deepfm\n"
		"[data]\ntrain = numbers.tsv\nformat = tsv\nlabel = 1\nheader = no\n"
		"[field id]\ncolumn = 4\nbuckets = 10\n%s", fields);
	bed_write_text("fit.ini", text, strlen(text));
	if (spec_load(&input, &spec) != RS_OK)
		fail_msg("%s", spec_problem(spec, 0)->text);
	return spec;
}

static const struct field_settings *
field(const struct spec *spec, const char *name)
{
	const struct settings *s = spec_settings(spec);

	for (size_t i = 0; i < s->n_fields; i++)
		if (strcmp(s->field[i].name, name) == 0)
			return &s->field[i];
	return NULL;
}

static void
nothing_is_read_when_nothing_is_needed(void **state)
{
	struct spec *spec = load("[field x]\ncolumn = 2\ntype = numeric\n"
		"transform = standardize\nmean = 3\nstddev = 2\n");

	(void)state;
	assert_false(fit_needed(spec_settings(spec)));
	/* the file is not there */
	assert_int_equal(fit_run(spec, NULL), RS_OK);
	spec_free(spec);
}

static void
mean_and_deviation_are_exact_far_from_zero(void **state)
{
	struct spec *spec = load("[field x]\ncolumn = 2\ntype = numeric\n"
		"transform = standardize\n");
	double sum = 0, square = 0, n = 0;

	(void)state;
	write_numbers("numbers.tsv");
	assert_true(fit_needed(spec_settings(spec)));
	assert_int_equal(fit_run(spec, NULL), RS_OK);
	for (uint64_t i = 0; i < N; i++)
		if (i % 10 != 0) {
			sum += 3 * rng_normal(17, i);
			square += 9 * rng_normal(17, i) * rng_normal(17, i);
			n++;
		}
	assert_float_equal(field(spec, "x")->mean, 10000 + sum / n, 1e-3);
	assert_float_equal(field(spec, "x")->stddev, sqrt(square / n - sum / n * sum / n), 1e-3);
	assert_false(fit_needed(spec_settings(spec)));
	spec_free(spec);
}

static void
constant_column_has_deviation_one(void **state)
{
	struct spec *spec = load("[field c]\ncolumn = 4\ntype = numeric\n"
		"transform = standardize\n");

	(void)state;
	write_numbers("numbers.tsv");
	assert_int_equal(fit_run(spec, NULL), RS_OK);
	assert_true(field(spec, "c")->mean == 7);
	assert_true(field(spec, "c")->stddev == 1);
	spec_free(spec);
}

static void
quantiles_of_a_ramp_are_even(void **state)
{
	struct spec *spec = load("[field r]\ncolumn = 3\ntype = numeric\n"
		"transform = bucketize\nquantiles = 10\n");

	(void)state;
	write_numbers("numbers.tsv");
	assert_int_equal(fit_run(spec, NULL), RS_OK);
	assert_int_equal(field(spec, "r")->boundaries.n, 9);
	for (size_t i = 0; i < 9; i++)
		assert_true(field(spec, "r")->boundaries.item[i] == (double)(N / 10 * (i + 1)));
	assert_false(fit_needed(spec_settings(spec)));
	spec_free(spec);
}

static void
equal_quantiles_become_one_boundary(void **state)
{
	struct spec *spec = load("[field c]\ncolumn = 4\ntype = numeric\n"
		"transform = bucketize\nquantiles = 10\n");

	(void)state;
	write_numbers("numbers.tsv");
	assert_int_equal(fit_run(spec, NULL), RS_OK);
	assert_int_equal(field(spec, "c")->boundaries.n, 1);
	assert_true(field(spec, "c")->boundaries.item[0] == 7);
	spec_free(spec);
}

/* Between and behind fields that need no figures, one of them numeric. */
static void
libffm_fields_have_figures(void **state)
{
	static const char rows[] = "1 0:a:1 1:x:2 2:x:10 3:x:5 4:y:1 4:z:2\n"
		"0 0:b:1 1:x:4 2:x:20 3:x:5\n1 0:a:1 1:x:6 2:x:30 4:z:1\n0 2:x:40\n";
	const char *text = "[model]\ntype = deepfm\n"
		"[data]\ntrain = rows.ffm\nformat = libffm\nindex_base = 0\n"
		"[field a]\ncolumn = 0\nbuckets = 10\n"
		"[field n]\ncolumn = 3\ntype = numeric\n"
		"[field s]\ncolumn = 1\ntype = numeric\ntransform = standardize\n"
		"[field m]\ncolumn = 4\ntype = multi\nbuckets = 10\n"
		"[field q]\ncolumn = 2\ntype = numeric\ntransform = bucketize\n"
		"quantiles = 4\n";
	const char *layer;
	const struct spec_input input = { .layer = &layer, .n_layers = 1 };
	struct spec *spec;

	(void)state;
	bed_write_text("rows.ffm", rows, strlen(rows));
	bed_write_text("ffm.ini", text, strlen(text));
	layer = bed_path("ffm.ini");
	if (spec_load(&input, &spec) != RS_OK)
		fail_msg("%s", spec_problem(spec, 0)->text);
	if (fit_run(spec, NULL) != RS_OK)
		fail_msg("%s: %s", rs_failure()->where, rs_failure()->text);
	assert_true(field(spec, "s")->mean == 4);
	assert_float_equal(field(spec, "s")->stddev, sqrt(8.0 / 3), 1e-6);
	assert_int_equal(field(spec, "q")->boundaries.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(field(spec, "q")->boundaries.item[i] == 20 + 10 * (double)i);
	spec_free(spec);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_read_when_nothing_is_needed),
		cmocka_unit_test(mean_and_deviation_are_exact_far_from_zero),
		cmocka_unit_test(constant_column_has_deviation_one),
		cmocka_unit_test(quantiles_of_a_ramp_are_even),
		cmocka_unit_test(equal_quantiles_become_one_boundary),
		cmocka_unit_test(libffm_fields_have_figures),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
