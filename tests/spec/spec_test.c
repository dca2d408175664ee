/* Specs: reading, errors, layers, resolving, printing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "spec/option.h"
#include "spec/spec.h"
#include "spec/value.h"

#define HEAD "[model]\ntype = deepfm\n[data]\ntrain = /d/t.tsv\nlabel = 1\n"
#define MINIMAL HEAD "[field C1]\ncolumn = 2\n"

static struct spec *
load(const char *text)
{
	struct spec *spec;
	const enum rs_status status = spec_load_text(text, "t.ini", &spec);

	if (status != RS_OK)
		fail_msg("%s: %s", rs_failure()->where, rs_failure()->text);
	return spec;
}

/* The first error of a text that has one. */
static void
assert_error(const char *text, size_t line, size_t column, const char *words)
{
	struct spec *spec;

	assert_int_equal(spec_load_text(text, "t.ini", &spec), RS_ESPEC);
	for (size_t i = 0; i < spec_n_problems(spec); i++) {
		const struct spec_problem *p = spec_problem(spec, i);

		if (!p->is_error)
			continue;
		if (strstr(p->text, words) == NULL || p->line != line || (column != 0 &&
			p->column != column))
			fail_msg("%zu:%zu: %s", p->line, p->column, p->text);
		spec_free(spec);
		return;
	}
	fail_msg("no error");
}

static char *
print(const struct spec *spec)
{
	struct buffer b;

	buffer_init(&b, 1 << 24);
	assert_int_equal(spec_print(spec, 0, &b), RS_OK);
	return b.data;
}

static void
defaults_are_those_of_the_manual(void **state)
{
	struct spec *spec = load(MINIMAL);
	const struct settings *s = spec_settings(spec);

	(void)state;
	assert_int_equal(s->train.batch_size, 4096);
	assert_int_equal(s->embedding.dim, 16);
	assert_int_equal(s->embedding.optimizer.kind, ROW_ADAGRAD);
	assert_true(s->embedding.optimizer.learning_rate == 0.02);
	assert_true(s->embedding.optimizer.initial_accumulator == 0.1);
	assert_true(s->embedding.optimizer.epsilon == 1e-7);
	assert_true(s->embedding.init_stddev == 1e-4);
	assert_int_equal(s->dnn.hidden.n, 3);
	assert_true(s->dnn.hidden.item[2] == 400);
	assert_int_equal(s->data.row_group, 256 * 1024);
	assert_int_equal(s->data.index_base, -1);
	assert_int_equal(s->data.missing.n, 1);
	assert_string_equal(s->data.missing.item[0], "");
	assert_true(s->train.checkpoint_every == 600);
	assert_string_equal(s->train.monitor, "auc");
	assert_int_equal(s->field[0].buckets, 1 << 20);
	assert_int_equal(s->field[0].dim, 16);
	assert_string_equal(s->field[0].multi_separator, "|");
	spec_free(spec);
}

static void
range_makes_fields_with_columns(void **state)
{
	struct spec *spec = load(HEAD "[field C1..C26]\ncolumn = 15..40\nbuckets = 10k\n[field "
		"N07..N09]\n"
		"column = n_7..n_9\ntype = numeric\n");
	const struct settings *s = spec_settings(spec);

	(void)state;
	assert_int_equal(s->n_fields, 29);
	assert_string_equal(s->field[25].name, "C26");
	assert_string_equal(s->field[25].column, "40");
	assert_int_equal(s->field[25].buckets, 10240);
	assert_string_equal(s->field[26].name, "N07");
	assert_string_equal(s->field[28].column, "n_9");
	spec_free(spec);
	assert_error(HEAD "[field C1..C3]\ncolumn = 2..5\n", 7, 10, "a range of 4 for 3 fields");
	assert_error(HEAD "[field C1..C3]\ncolumn = 2\n", 7, 10, "one column for 3 fields");
	assert_error(HEAD "[field C3..C1]\n", 6, 1, "backwards");
}

static void
every_error_is_reported_at_once(void **state)
{
	struct spec *spec;

	(void)state;
	assert_int_equal(spec_load_text("[model]\ntype = deepfm\n[data]\ntrain = t\nlabel = "
		"1\n[trian]\nx = 1\n"
		"[train]\nlerning_rate = 1\nepochs = two\n[field C1]\ncolumn = 2\ndim = 16x\n",
		"t.ini", &spec), RS_ESPEC);
	assert_int_equal(spec_n_problems(spec), 4);
	assert_string_equal(spec_problem(spec, 0)->text, "[trian]: unknown section");
	assert_string_equal(spec_problem(spec, 0)->hint, "did you mean 'train'?");
	assert_int_equal(spec_problem(spec, 0)->line, 6);
	assert_string_equal(spec_problem(spec, 1)->text, "[train] lerning_rate: unknown key");
	assert_string_equal(spec_problem(spec, 1)->hint, "did you mean 'learning_rate'?");
	assert_string_equal(spec_problem(spec, 2)->text, "[train] epochs = 'two': not a whole "
		"number");
	assert_int_equal(spec_problem(spec, 2)->column, 10);
	assert_string_equal(spec_problem(spec, 3)->text, "[field C1] dim = '16x': not a whole "
		"number");
	spec_free(spec);
}

static void
text_of_another_shape_is_an_error(void **state)
{
	(void)state;
	assert_error(MINIMAL "[train]\nepochs 3\n", 9, 1, "'epochs 3' is not 'key = value'");
	assert_error(MINIMAL "[train\nepochs = 3\n", 8, 1, "']' is missing");
	assert_error(MINIMAL "[train]\nepochs = 1\nepochs = 2\n", 10, 1,
		"given twice, first in line 9");
	assert_error(MINIMAL "[train]\nepochs = 0\n", 9, 10, "out of range, 1 to 1000000 is "
		"wanted");
	assert_error(MINIMAL "[train]\nlearning_rate = 0\n", 9, 17, "out of range, above 0");
	assert_error(MINIMAL "[train]\nepochs += 1\n", 9, 1, "is not a list");
	assert_error(MINIMAL "[field C1]\ndim = 3\n", 8, 1, "twice, first in line 6");
	assert_error(MINIMAL "[train]\noptimizer = adan\n", 9, 13, "not one of sgd momentum");
	assert_error("epochs = 1\n" MINIMAL, 1, 1, "before the first section");
	assert_error("[model]\ntype = a\xff\n", 2, 9, "not UTF-8");
	assert_error("\xff\xfe[\0m", 1, 1, "UTF-16");
	assert_error(MINIMAL "[train]\nseed = 1 \\\n  2\n", 9, 8, "not a whole number");
	assert_error(MINIMAL "[data]\nmissing = \"a\n", 9, 11, "not closed");
	assert_error(MINIMAL "[data]\nmissing = a,,b\n", 9, 11, "an empty item");
	assert_error(MINIMAL "[data]\ncommand = \"cat\" x\n", 9, 11,
		"text after the closing quote");
}

static void
dialect_is_read(void **state)
{
	struct spec *spec = load("\xef\xbb\xbf; comment\r\n[model]\r\ntype = deepfm # "
		"why\r\n[data]\r\n"
		"train = a.tsv,\\\r\n \"b c.tsv\" ; more\r\nlabel=1\r\nmissing = ''\r\nmissing "
		"+= \"a\\tb\", x#y\r\n"
		"separator = \";\"\r\n[train]\r\nepochs = 3\r\n[field \"a b\"]\r\ncolumn = "
		"2\r\n[train]\r\nseed = 5\r\n");
	const struct settings *s = spec_settings(spec);

	(void)state;
	assert_int_equal(s->data.train.n, 2);
	assert_string_equal(s->data.train.item[1], "b c.tsv");
	assert_int_equal(s->data.missing.n, 3);
	assert_string_equal(s->data.missing.item[1], "a\tb");
	assert_string_equal(s->data.missing.item[2], "x#y");
	assert_string_equal(s->data.separator, ";");
	assert_int_equal(s->train.epochs, 3);
	assert_int_equal(s->train.seed, 5);
	assert_string_equal(s->field[0].name, "a b");
	spec_free(spec);
}

static void
rules_over_several_keys_are_checked(void **state)
{
	(void)state;
	assert_error("[data]\ntrain = t\nlabel = 1\n[field C1]\ncolumn = 2\n", 0, 0,
		"a model is needed");
	assert_error("[model]\ntype = fm\n[data]\nlabel = 1\n[field C1]\ncolumn = 2\n", 0, 0,
		"training data is needed");
	assert_error(HEAD, 0, 0, "there is no [field NAME]");
	assert_error("[model]\ntype=fm\n[data]\ntrain=t\n[field C1]\ncolumn=2\n", 0, 0,
		"the column of the label is needed");
	assert_error("[model]\ntype=fm\n[data]\ntrain=t\nformat=libsvm\n[field C1]\n", 0, 0,
		"index_base");
	assert_error(MINIMAL "share = C2\n", 8, 1, "there is no field 'C2'");
	assert_error(MINIMAL "[field C2]\ncolumn=3\nshare=C1\ndim = 3\n", 11, 1,
		"[field C2] dim: differs");
	assert_error(MINIMAL "type = multi\nmulti_separator = tab\n", 9, 1,
		"equals the separator of the columns");
	assert_error(MINIMAL "[train]\nschedule = plateau\n", 9, 1, "plateau needs data.valid");
	assert_error(MINIMAL "type = numeric\ntransform = bucketize\nboundaries = 1,1\n", 10, 1,
		"not ascending");
	assert_error(HEAD "header = no\n[field C1]\n", 7, 1, "a column by name, but data.header "
		"= no");
}

static void
inherited_values_follow_their_origin(void **state)
{
	struct spec *spec = load(MINIMAL "[field C2]\ncolumn = 3\nlearning_rate = 0.5\n[field "
		"C3]\nshare = C2\n"
		"[embedding]\nlearning_rate = 0.05\ndim = 8\nl2 = 0.1\noptimizer = "
		"adam\n[linear]\nl2 = 0\n");
	const struct settings *s = spec_settings(spec);

	(void)state;
	assert_true(s->field[0].learning_rate == 0.05 && s->field[0].scheduled);
	assert_true(s->field[1].learning_rate == 0.5 && !s->field[1].scheduled);
	assert_true(s->field[2].learning_rate == 0.5 && !s->field[2].scheduled);
	assert_int_equal(s->field[2].dim, 8);
	assert_int_equal(s->field[0].optimizer, ROW_ADAM);
	assert_int_equal(s->linear.optimizer.kind, ROW_ADAM);
	assert_true(s->linear.optimizer.l2 == 0 && s->linear.optimizer.learning_rate == 0.05);
	assert_int_equal(spec_set(spec, "embedding", "dim", "4"), RS_OK);
	assert_int_equal(s->field[0].dim, 4);
	spec_free(spec);
}

static void
set_after_loading_is_checked(void **state)
{
	struct spec *spec = load(HEAD "[field I1]\ncolumn = 2\ntype = numeric\ntransform = "
		"standardize\n");

	(void)state;
	assert_int_equal(spec_set(spec, "field I1", "mean", "3.25"), RS_OK);
	assert_true(spec_settings(spec)->field[0].mean == 3.25);
	assert_int_equal(spec_set(spec, "field I1", "stddev", "-1"), RS_ESPEC);
	assert_int_equal(spec_set(spec, "field I2", "mean", "1"), RS_ESPEC);
	assert_int_equal(spec_set(spec, "train", "epoch", "1"), RS_ESPEC);
	assert_int_equal(spec_n_problems(spec), 0);
	spec_free(spec);
}

/* Each section that is not every model's: printed for its models, and not for
 * others unless a key is given, which is a warning. */
static void
sections_of_other_models_are_not_printed(void **state)
{
	char head[20], text[400];

	(void)state;
	for (const struct option_section *s = option_section; s->name != NULL; s++)
		for (int uses = 0; s->models != NULL && uses < 2; uses++) {
			const int  is_tower = strncmp(s->name, "tower", 5) == 0;
			const char *other = strcmp(s->name, "two_tower") == 0 || is_tower ? "fm" :
				"two_tower";
			const char *model = uses ? s->models : other;
			struct spec *spec;
			char *printed;

			snprintf(head, sizeof(head), "[%s]\n", s->name);
			snprintf(text, sizeof(text), "[model]\ntype = %.*s\n[data]\ntrain = "
				"a\nlabel = 1\n[field C1]\ncolumn = 2\n",
				(int)strcspn(model, " "), model);
			spec_load_text(text, "t.ini", &spec);   /* fields it may lack */
			assert_non_null(spec);
			printed = print(spec);
			assert_int_equal(strstr(printed, head) != NULL, uses);
			free(printed);
			spec_free(spec);
		}
}

#define DCN "[model]\ntype = dcn\n[data]\ntrain = /d/t.tsv\nlabel = 1\n[field C1]\n"

static void
part_wide_needs_first_order_weights(void **state)
{
	struct spec *spec = load(MINIMAL "[field C2]\n[field X]\ntype = cross\nfields = C1,C2\n");

	(void)state;
	assert_int_equal(spec_settings(spec)->field[2].part, PART_WIDE);
	spec_free(spec);
	spec = load(DCN "[field C2]\n[field X]\ntype = cross\nfields = C1,C2\n");
	assert_int_equal(spec_settings(spec)->field[2].part, PART_BOTH);
	spec_free(spec);
	assert_error(DCN "part = wide\n", 7, 1, "model dcn has no first-order weights");
}

static void
models_that_multiply_vectors_need_one_dim(void **state)
{
	(void)state;
	assert_error(MINIMAL "[field C2]\ndim = 3\n", 9, 1, "needs one dim, but 'C1' has 16");
	spec_free(load(MINIMAL "[field C2]\ndim = 3\npart = wide\n"));
	assert_error("[model]\ntype = dlrm\n[data]\ntrain = /d/t.tsv\nlabel = 1\n"
		"[field I]\ntype = numeric\ndim = 2\n[field C]\ndim = 3\n", 10, 1,
		"needs that of embedding, 16");
}

static void
cross_layers_of_v1_have_no_rank_and_experts_need_one(void **state)
{
	(void)state;
	assert_error(DCN "[dcn]\nversion = v1\nrank = 4\n", 9, 1, "has no rank");
	assert_error(DCN "[dcn]\nexperts = 4\n", 8, 1, "rank is not given");
	spec_free(load(DCN "[dcn]\nexperts = 4\nrank = 8\n"));
}

static void
keys_of_a_section_of_other_models_warn(void **state)
{
	struct spec *spec = load(MINIMAL "[din]\nsoftmax = yes\npooling = sum\n"), *again;
	char *printed = print(spec);

	(void)state;
	assert_int_equal(spec_n_problems(spec), 1);
	assert_int_equal(spec_problem(spec, 0)->is_error, 0);
	assert_non_null(strstr(spec_problem(spec, 0)->text, "does not use"));
	assert_non_null(strstr(printed, "[din]\nsoftmax = yes\npooling = sum\n["));
	again = load(printed);
	assert_int_equal(spec_settings(again)->din.pooling, DIN_SUM);
	free(printed);
	spec_free(again);
	spec_free(spec);
}

static void
printed_spec_reads_back_equal(void **state)
{
	struct spec *spec = load(HEAD "valid = /v/a b.tsv, '/v/#c.tsv'\nseparator = "
		"';'\nlabel_values = -1,1\n"
		"weight = \"a;b\"\nmissing = \"\",NA\n[field "
		"C1..C3]\ncolumn=2..4\nlearning_rate=0.3\n[field \"o\\\"dd x\"]\n"
		"column=7\ntype=multi\nweight_separator=:\n[field "
		"I1]\ncolumn=9\ntype=numeric\ntransform=bucketize\n"
		"boundaries=-1.5,0,1e300\n[train]\ntime_limit=90m\nbatch_size=1000\n"
		"[dnn]\nhidden=\n"), *again;
	char *first = print(spec), *second;

	(void)state;
	again = load(first);
	second = print(again);
	assert_string_equal(first, second);
	assert_int_equal(spec_n_problems(again), 0);
	assert_int_equal(spec_settings(again)->n_fields, 5);
	assert_string_equal(spec_settings(again)->field[3].name, "o\"dd x");
	assert_int_equal(spec_settings(again)->field[0].scheduled, 0);
	assert_int_equal(spec_settings(again)->field[4].scheduled, 1);
	assert_int_equal(spec_settings(again)->dnn.hidden.n, 0);
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, "field") != 0)
			assert_true(option_equal(row, spec_settings(spec), row,
				spec_settings(again)));
	free(first);
	free(second);
	spec_free(spec);
	spec_free(again);
}

/* B030: numbers survive print and read. */
static void
B030_no_false_disagreement_after_a_round_trip(void **state)
{
	static const char *const value[] = { "0.1", "1e-7", "0.02", "1e-300", "0.30000000000000004",
		"123456.789" };

	(void)state;
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		char text[500], *first, *second;
		struct spec *spec, *again;

		snprintf(text, sizeof(text), MINIMAL "[train]\nlearning_rate = %s\n[dnn]\nl2 = "
			"%s\n", value[i], value[i]);
		spec = load(text);
		first = print(spec);
		again = load(first);
		second = print(again);
		assert_string_equal(first, second);
		assert_true(spec_settings(spec)->train.learning_rate == strtod(value[i], NULL));
		assert_true(spec_settings(again)->train.learning_rate == strtod(value[i], NULL));
		assert_true(spec_settings(again)->dnn.l2 == strtod(value[i], NULL));
		free(first);
		free(second);
		spec_free(spec);
		spec_free(again);
	}
}

static void
B058_unknown_key_of_the_command_line_is_named(void **state)
{
	char path[] = "/tmp/spec_test.XXXXXX";
	const int fd = mkstemp(path);
	const char *layer = path, *set = "train.lerning_rate=1";
	struct spec_input input = { .layer = &layer, .n_layers = 1, .set = &set, .n_sets = 1 };
	struct spec *spec;

	(void)state;
	assert_true(fd >= 0 && write(fd, MINIMAL, strlen(MINIMAL)) > 0);
	close(fd);
	assert_int_equal(spec_load(&input, &spec), RS_ESPEC);
	assert_int_equal(rs_exit_code(RS_ESPEC), 78);
	assert_string_equal(spec_problem(spec, 0)->file, "command line");
	assert_string_equal(spec_problem(spec, 0)->text, "[train] lerning_rate: unknown key");
	assert_string_equal(spec_problem(spec, 0)->hint, "did you mean 'learning_rate'?");
	spec_free(spec);
	input.lenient = 1;
	assert_int_equal(spec_load(&input, &spec), RS_OK);
	assert_int_equal(spec_n_problems(spec), 1);
	spec_free(spec);
	unlink(path);
}

/* Every key with every letter changed. */
static void
B060_every_key_with_one_letter_changed_is_an_error(void **state)
{
	(void)state;
	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		for (size_t i = 0; row->key[i] != '\0'; i++) {
			char key[64], text[300];
			struct spec *spec;

			if (row->key[i] < 'a' || row->key[i] > 'z')
				continue;
			snprintf(key, sizeof(key), "%s", row->key);
			key[i] = key[i] == 'z' ? 'a' : (char)(key[i] + 1);
			snprintf(text, sizeof(text), "[%s%s]\n%s = 1\n", row->section,
				strcmp(row->section, "field") == 0 ? " C1" : "", key);
			assert_int_equal(spec_load_text(text, "t", &spec), RS_ESPEC);
			assert_non_null(strstr(spec_problem(spec, 0)->text, "unknown key"));
			assert_int_equal(spec_problem(spec, 0)->line, 2);
			spec_free(spec);
		}
	}
}

static void
B063_paths_keep_every_character(void **state)
{
	static const struct { const char *written, *path; } row[] = {
		{ "'/d/a#b.tsv'", "/d/a#b.tsv" }, { "/d/a#b.tsv", "/d/a#b.tsv" }, { "/d/a;b=c.tsv",
		  "/d/a;b=c.tsv" },
		{ "\"/d/a #b.tsv\"  # comment", "/d/a #b.tsv" }, { "'/d/C:\\temp\\x'",
		  "/d/C:\\temp\\x" },
		{ "/d/C:\\temp\\x", "/d/C:\\temp\\x" }, { "\"/d/a\\\\b\\\"c\"", "/d/a\\b\"c" },
		{ "/d/it's.tsv ; x", "/d/it's.tsv" }, { "\"/d/it's\"", "/d/it's" }, { "/d/a b.tsv",
		  "/d/a b.tsv" },
		{ "'/d/a,b.tsv'", "/d/a,b.tsv" }, { "\"/d/\\xe9.tsv\"", "/d/\xe9.tsv" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[300], *printed;
		struct spec *spec, *again;

		snprintf(text, sizeof(text), "[data]\nvalid = %s\n" MINIMAL "", row[i].written);
		spec = load(text);
		assert_int_equal(spec_settings(spec)->data.valid.n, 1);
		assert_string_equal(spec_settings(spec)->data.valid.item[0], row[i].path);
		printed = print(spec);
		again = load(printed);
		assert_string_equal(spec_settings(again)->data.valid.item[0], row[i].path);
		free(printed);
		spec_free(spec);
		spec_free(again);
	}
}

static void
B106_odd_field_names_work_in_quotes_or_are_named(void **state)
{
	static const char *const good[] = { "a b", "a,b", "a[b]", "a.b", "\xc3\xa9t\xc3\xa9",
		"\xf0\x9f\x98\x80", "x..y", "C1..C3" };
	char long_name[301] = "", text[600];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct spec *spec, *again;
		char *printed;

		snprintf(text, sizeof(text), HEAD "[field \"%s\"]\ncolumn = 2\n", good[i]);
		spec = load(text);
		printed = print(spec);
		again = load(printed);
		assert_int_equal(spec_settings(again)->n_fields, 1);
		assert_string_equal(spec_settings(again)->field[0].name, good[i]);
		free(printed);
		spec_free(spec);
		spec_free(again);
	}
	assert_error(HEAD "[field a b]\ncolumn = 2\n", 6, 1, "blanks needs quotes");
	assert_error(HEAD "[field a,b]\ncolumn = 2\n", 6, 1, "the character ',' in a section's "
		"name needs quotes");
	assert_error(HEAD "[field \"a/b\"]\ncolumn = 2\n", 6, 1,
		"field 'a/b': the character '/' is not allowed");
	assert_error(HEAD "[field \"a\\nb\"]\ncolumn = 2\n", 6, 1,
		"the character '\\x0A' is not allowed");
	memset(long_name, 'x', 300);
	snprintf(text, sizeof(text), HEAD "[field %s]\ncolumn = 2\n", long_name);
	assert_error(text, 6, 1, "a name of 300 bytes, at most 100");
}

static void
table_rows_are_complete_and_their_defaults_valid(void **state)
{
	struct pool pool = { 0 };
	const struct option_context context = { .pool = &pool, .base = "" };
	union { struct settings s; struct field_settings f; } space;

	(void)state;
	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		memset(&space, 0, sizeof(space));
		option_clear(row, &space);
		assert_true(row->text != NULL && row->text[strlen(row->text) - 1] != '.');
		if (row->type == OPTION_INT || row->type == OPTION_NUMBER ||
			row->type == OPTION_SIZE)
			assert_true(row->min < row->max);
		if (row->type == OPTION_CHOICE || row->type == OPTION_WORD)
			assert_true(row->choices != NULL || strcmp(row->key, "type") == 0);
		if (row->dflt != NULL && option_read(row, row->dflt, &context, &space) != RS_OK)
			fail_msg("%s.%s: %s", row->section, row->key, rs_failure()->text);
		if (row->dflt == NULL && row->inherits == NULL)
			assert_true(option_is_unset(row, &space));
		for (const struct option_row *other = option_table; other < row; other++)
			assert_false(strcmp(row->section, other->section) == 0 && strcmp(row->key,
				other->key) == 0);
	}
	pool_free(&pool);
}

static void
choices_are_in_the_order_of_their_enum(void **state)
{
	struct spec *spec = load(MINIMAL "type = sequence\n[data]\nformat = "
		"libfm\n[embedding]\noptimizer = ftrl\n"
		"[dnn]\nactivation = gelu\ninit = he_normal\n[train]\noptimizer = "
		"adamw\nschedule = cosine\n");
	const struct settings *s = spec_settings(spec);

	(void)state;
	assert_int_equal(s->field[0].type, FIELD_SEQUENCE);
	assert_int_equal(s->data.format, FORMAT_LIBFM);
	assert_int_equal(s->embedding.optimizer.kind, ROW_FTRL);
	assert_int_equal(s->dnn.activation, ACT_GELU);
	assert_int_equal(s->dnn.init, INIT_HE_NORMAL);
	assert_int_equal(s->train.optimizer, DENSE_ADAMW);
	assert_int_equal(s->train.schedule, SCHEDULE_COSINE);
	spec_free(spec);
}

static void
nearest_name_is_near(void **state)
{
	static const char *const names[] = { "train", "eval", "predict" };

	(void)state;
	assert_string_equal(spec_nearest("trian", names, 3), "train");
	assert_string_equal(spec_nearest("predictt", names, 3), "predict");
	assert_null(spec_nearest("xyzzy", names, 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(range_makes_fields_with_columns),
		cmocka_unit_test(every_error_is_reported_at_once),
		cmocka_unit_test(text_of_another_shape_is_an_error),
		cmocka_unit_test(dialect_is_read),
		cmocka_unit_test(rules_over_several_keys_are_checked),
		cmocka_unit_test(inherited_values_follow_their_origin),
		cmocka_unit_test(set_after_loading_is_checked),
		cmocka_unit_test(sections_of_other_models_are_not_printed),
		cmocka_unit_test(keys_of_a_section_of_other_models_warn),
		cmocka_unit_test(part_wide_needs_first_order_weights),
		cmocka_unit_test(models_that_multiply_vectors_need_one_dim),
		cmocka_unit_test(cross_layers_of_v1_have_no_rank_and_experts_need_one),
		cmocka_unit_test(printed_spec_reads_back_equal),
		cmocka_unit_test(B030_no_false_disagreement_after_a_round_trip),
		cmocka_unit_test(B058_unknown_key_of_the_command_line_is_named),
		cmocka_unit_test(B060_every_key_with_one_letter_changed_is_an_error),
		cmocka_unit_test(B063_paths_keep_every_character),
		cmocka_unit_test(B106_odd_field_names_work_in_quotes_or_are_named),
		cmocka_unit_test(table_rows_are_complete_and_their_defaults_valid),
		cmocka_unit_test(choices_are_in_the_order_of_their_enum),
		cmocka_unit_test(nearest_name_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
