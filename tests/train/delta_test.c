/* Versions that are deltas: the chain gives the model that was saved, to the bit, or nothing. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "embed/exact.h"
#include "tests/test.h"
#include "train/checkpoint.h"
#include "train/checkpoint_chain.h"

#define N_DELTAS 24
#define N_IDS    40

static const char *const optimizers[] = { "sgd", "adagrad", "rowwise_adagrad", "adam", "ftrl" };

static const struct model_options for_training = { .n_threads = 1, .for_training = 1 };

static char directory[64];

static struct model *
make(const char *optimizer, int full_every)
{
	struct model *m;
	struct spec *spec;
	char text[600];

	snprintf(text, sizeof text, "[model]\ntype = deepfm\n"
		"[data]\ntrain = t.tsv\nformat = tsv\nlabel = 1\n"
		"[field a]\ncolumn = 2\nbuckets = 500\n"
		"[field b]\ncolumn = 3\ntable = exact\n"
		"[embedding]\ndim = 3\noptimizer = %s\n[dnn]\nhidden = 5\n"
		"[train]\nfull_every = %d\n", optimizer, full_every);
	assert_int_equal(spec_load_text(text, "test.ini", &spec), RS_OK);
	assert_int_equal(model_create(spec, &for_training, &m), RS_OK);
	m->rate_factor = 1;
	return m;
}

/* A step of some rows of every table. */
static void
train(struct model *m, uint64_t number)
{
	for (size_t t = 0; t < m->n_tables; t++) {
		const size_t dim = m->table[t].dim;
		uint64_t id[N_IDS];
		float grad[N_IDS][8];
		const float *at[N_IDS], *row[N_IDS];

		for (size_t i = 0; i < N_IDS; i++) {
			id[i] = rng_below(number, i, 500);
			if (m->table[t].kind == TABLE_EXACT)
				id[i] *= UINT64_MAX / 500;
			for (size_t k = 0; k < dim; k++)
				grad[i][k] = (float)rng_below(number * 31 + t, i * 8 + k, 100)
					/ 50 - 1;
			at[i] = grad[i];
		}
		const struct lookup_pull pull = { .table = t, .ids = id, .n = N_IDS, .row = row,
			.training = 1 };
		const struct lookup_push push = { .table = t, .ids = id, .n = N_IDS, .grad = at };
		const struct lookup_commit commit = { .step = number + 1, .finite = 1,
			.rate_factor = 1, .n_workers = 1 };

		assert_int_equal(m->lookup->ops->pull(m->lookup, &pull), RS_OK);
		assert_int_equal(m->lookup->ops->push(m->lookup, &push), RS_OK);
		assert_int_equal(m->lookup->ops->commit(m->lookup, &commit), RS_OK);
	}
	for (size_t i = 0; i < m->P; i++)
		m->param[i] += (float)(number + i) / 64;
	m->step++;
}

static enum rs_status
try_save(const char *to, struct model *m, uint64_t *version)
{
	const struct checkpoint_progress progress = { .state = CHECKPOINT_FINAL, .best = NAN,
		.rate_factor = 1, .step = m->step };

	return checkpoint_save(to, m, &progress, 1, version, NULL);
}

static uint64_t
save(struct model *m)
{
	uint64_t version = 0;

	assert_int_equal(try_save(directory, m, &version), RS_OK);
	return version;
}

static struct model *
load(uint64_t version)
{
	struct model *m;

	assert_int_equal(checkpoint_load(directory, version, &for_training, &m, NULL, NULL), RS_OK);
	return m;
}

/* Of all bytes that the tables and the dense parameters would be saved as. */
static uint64_t
digest(const struct model *m)
{
	uint64_t sum = hash_fingerprint64((const char *)m->param, m->P * sizeof *m->param);

	for (size_t t = 0; t < m->n_tables; t++) {
		struct file_writer w;
		struct file_map map;

		assert_int_equal(file_writer_open_memory(&w), RS_OK);
		assert_int_equal(m->lookup->ops->save(m->lookup, t, &w), RS_OK);
		assert_int_equal(file_writer_commit(&w), RS_OK);
		assert_int_equal(file_map_open(&map, w.path), RS_OK);
		sum = sum * 31 + hash_fingerprint64(map.data, map.size);
		file_map_close(&map);
		file_writer_close(&w);
	}
	return sum;
}

static void
refuses(uint64_t version, const char *named)
{
	struct model *m;

	assert_int_not_equal(
		checkpoint_load(directory, version, &for_training, &m, NULL, NULL), RS_OK);
	if (strstr(rs_failure()->text, named) == NULL)
		fail_msg("'%s' does not name %s", rs_failure()->text, named);
}

static char *
path_of(uint64_t version)
{
	static char path[2][128];
	static int turn;

	snprintf(path[turn ^= 1], sizeof path[0], "%s/v%06d", directory, (int)version);
	return path[turn];
}

static uint64_t
parent_of(const char *of, uint64_t version)
{
	uint64_t parent;
	char *path;

	assert_int_equal(checkpoint_version_path(of, version, &path), RS_OK);
	assert_int_equal(checkpoint_chain_parent(path, &parent), RS_OK);
	free(path);
	return parent;
}

/* --- tests ------------------------------------------------------------------------------ */

static void
L001_full_and_24_deltas_are_the_live_model(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++) {
		struct model *const live = make(optimizers[k], 100);
		uint64_t want[N_DELTAS + 1];

		for (uint64_t hour = 0; hour <= N_DELTAS; hour++) {
			for (uint64_t i = 0; i < 3; i++)
				train(live, 3 * hour + i);
			assert_int_equal(save(live), hour + 1);
			assert_int_equal(parent_of(directory, hour + 1), hour);
			want[hour] = digest(live);
		}
		for (uint64_t version = 1; version <= N_DELTAS + 1; version += 8) {
			struct model *const m = load(version);

			assert_true(digest(m) == want[version - 1]);
			model_free(m);
		}
		struct model *const m = load(0);
		train(live, 1000);
		train(m, 1000);
		assert_true(digest(m) == digest(live));
		assert_int_equal(save(m), N_DELTAS + 2);
		model_free(m);
		struct model *const again = load(0);
		assert_true(digest(again) == digest(live));
		model_free(again);
		model_free(live);
		file_remove_tree(directory);
	}
}

static void
one_version_in_full_every_is_whole(void **state)
{
	struct model *m = make("adagrad", 3);
	const uint64_t parent[] = { 0, 1, 2, 0, 4, 5, 0 };

	(void)state;
	for (uint64_t i = 0; i < sizeof parent / sizeof *parent; i++) {
		train(m, i);
		save(m);
		assert_int_equal(parent_of(directory, i + 1), parent[i]);
		model_free(m);
		m = load(0);
	}
	model_free(m);
}

static void
L005_empty_tables_and_empty_deltas_are_saved(void **state)
{
	struct model *const live = make("adam", 9);
	const uint64_t want = digest(live);

	(void)state;
	for (int i = 0; i < 3; i++)
		save(live);
	struct model *const m = load(3);
	assert_true(digest(m) == want);
	model_free(m);
	model_free(live);
}

static void
copy(uint64_t from, uint64_t to)
{
	char command[400];

	snprintf(command, sizeof command, "cp -r %s %s", path_of(from), path_of(to));
	assert_int_equal(system(command), 0);
}

static void
L019_gap_repeat_and_order_are_refused_by_name(void **state)
{
	struct model *const m = make("adam", 9);
	char aside[128];

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		train(m, i);
		save(m);
	}
	snprintf(aside, sizeof aside, "%s/aside", directory);
	assert_int_equal(rename(path_of(3), aside), 0);
	refuses(5, "v000003");
	refuses(4, "v000003");
	copy(2, 3);                                    /* 2 twice */
	refuses(5, "v000003");
	refuses(3, "v000003");
	file_remove_tree(path_of(3));
	assert_int_equal(rename(path_of(4), path_of(3)), 0);   /* 1 2 4 3 5 */
	assert_int_equal(rename(aside, path_of(4)), 0);
	refuses(5, "v000004");
	refuses(4, "v000004");
	assert_int_equal(rename(path_of(4), aside), 0);
	assert_int_equal(rename(path_of(3), path_of(4)), 0);
	assert_int_equal(rename(aside, path_of(3)), 0);
	struct model *const again = load(5);
	assert_true(digest(again) == digest(m));
	model_free(again);
	model_free(m);
}

static void
delta_of_another_model_is_refused(void **state)
{
	struct model *const m = make("adam", 9), *const other = make("adam", 9);
	char aside[128];

	(void)state;
	save(m);
	train(m, 1);
	save(m);
	snprintf(aside, sizeof aside, "%s/aside", directory);
	assert_int_equal(rename(path_of(1), aside), 0);
	train(other, 7);
	assert_int_equal(rename(path_of(2), path_of(9)), 0);
	assert_int_equal(try_save(directory, other, NULL), RS_OK);
	assert_int_equal(rename(path_of(10), path_of(1)), 0);
	assert_int_equal(rename(path_of(9), path_of(2)), 0);
	refuses(2, "v000001");
	model_free(m);
	model_free(other);
}

static void
D2_7_failed_write_is_repeated_by_the_next(void **state)
{
	struct model *const m = make("adam", 9);
	struct rlimit was, small;

	(void)state;
	save(m);
	train(m, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){ .rlim_cur = 1024, .rlim_max = was.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_not_equal(try_save(directory, m, NULL), RS_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	train(m, 2);
	const uint64_t version = save(m);
	assert_int_equal(parent_of(directory, version), 1);
	struct model *const again = load(version);
	assert_true(digest(again) == digest(m));
	model_free(again);
	model_free(m);
}

static void
pruning_keeps_what_a_delta_is_made_of(void **state)
{
	struct model *const m = make("adam", 4);
	uint64_t *list;
	size_t n;

	(void)state;
	for (uint64_t i = 0; i < 7; i++) {             /* 1 2 3 4 | 5 6 7 */
		train(m, i);
		save(m);
	}
	assert_int_equal(checkpoint_prune(directory, 1, NULL, 0), RS_OK);
	assert_int_equal(checkpoint_list(directory, &list, &n), RS_OK);
	assert_int_equal(n, 3);
	assert_int_equal(list[0], 5);
	free(list);
	struct model *const again = load(0);
	assert_true(digest(again) == digest(m));
	model_free(again);
	model_free(m);
}

static void
compacted_version_is_whole_and_its_deltas_stay_good(void **state)
{
	struct model *const m = make("ftrl", 9);
	uint64_t third = 0;
	int changed = 0;

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		train(m, i);
		save(m);
		third = i == 2 ? digest(m) : third;
	}
	assert_int_equal(checkpoint_compact(directory, 3, &changed), RS_OK);
	assert_true(changed);
	assert_int_equal(parent_of(directory, 3), 0);
	file_remove_tree(path_of(1));
	file_remove_tree(path_of(2));
	struct model *const whole = load(3), *const last = load(5);
	assert_true(digest(whole) == third);
	assert_true(digest(last) == digest(m));
	model_free(whole);
	model_free(last);
	model_free(m);
}

static void
without_its_parent_a_version_is_whole(void **state)
{
	struct model *const m = make("adam", 9);
	char other[80];

	(void)state;
	save(m);
	train(m, 1);
	snprintf(other, sizeof other, "%s.other", directory);
	assert_int_equal(try_save(other, m, NULL), RS_OK);
	assert_int_equal(parent_of(other, 1), 0);
	train(m, 2);
	file_remove_tree(other);
	save(m);
	assert_int_equal(parent_of(directory, 2), 0);
	struct model *const again = load(0);
	assert_true(digest(again) == digest(m));
	model_free(again);
	model_free(m);
}

static int
set_up(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR);
	snprintf(directory, sizeof directory, "/tmp/delta.XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int
tear_down(void **state)
{
	(void)state;
	file_remove_tree(directory);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(L001_full_and_24_deltas_are_the_live_model),
		TEST(one_version_in_full_every_is_whole),
		TEST(L005_empty_tables_and_empty_deltas_are_saved),
		TEST(L019_gap_repeat_and_order_are_refused_by_name),
		TEST(delta_of_another_model_is_refused),
		TEST(D2_7_failed_write_is_repeated_by_the_next),
		TEST(pruning_keeps_what_a_delta_is_made_of),
		TEST(compacted_version_is_whole_and_its_deltas_stay_good),
		TEST(without_its_parent_a_version_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
