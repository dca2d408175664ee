/* A run of several ranks is, to the bit, the run of one process. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tests/test.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "place_hub.h"
#include "train/train.h"

/* The last batch has fewer rows than slots. */
enum { N_TRAIN = 3 * 64 + 3, N_VALID = 600 };

struct job {
	size_t rank;
	const char *spec, *directory;
	const char *train, *valid;     /* instead of the spec's; NULL: that             */
	struct place_hub *hub;         /* NULL: no place                              */
	const char *from;              /* warm start                                  */
	int resume, threads, corrupts;
	volatile int signal;
	/* Out. */
	enum rs_status status;
	struct rs_failure failure;
	struct train_summary summary;
};

static char *top;                      /* directory of the group                      */

/* --- data and specs -------------------------------------------------------------- */

static void
write_rows(const char *name, size_t n, uint64_t key)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", top, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "y,u,i,c,x,p,q\n");
	for (size_t b = 0; b < n; b++) {
		const uint64_t item = rng_below(key, 16 * b, 30);
		const uint64_t user = rng_below(key, 16 * b + 1, 25);
		const size_t length = rng_below(key, 16 * b + 2, 5);

		fprintf(f, "%d,u%d,i%d,c%d,%.3f,", (item * 7 + user) % 5 < 2 || b % 9 == 0,
			(int)user, (int)item, (int)(item % 6), rng_normal(key, 16 * b + 3));
		for (size_t k = 0; k < length; k++)
			fprintf(f, "%si%d", k > 0 ? "|" : "",
				(int)rng_below(key, 16 * b + 4 + k, 30));
		fprintf(f, ",");
		for (size_t k = 0; k < length; k++)
			fprintf(f, "%sc%d", k > 0 ? "|" : "",
				(int)rng_below(key, 16 * b + 4 + k, 30) % 6);
		fprintf(f, "\n");
	}
	assert_int_equal(fclose(f), 0);
}

#define DATA "[data]\ntrain = %s/train.csv\nvalid = %s/valid.csv\nformat = csv\nlabel = y\n"
#define FIELDS "[field u]\ncolumn = u\nbuckets = 40\n[field i]\ncolumn = i\nbuckets = 50\n" \
	"[field c]\ncolumn = c\nbuckets = 10\n"
#define NUMBER "[field x]\ncolumn = x\ntype = numeric\ntransform = standardize\n"
#define PAST "[field p]\ncolumn = p\ntype = sequence\nshare = i\nmulti_separator = |\n" \
	"[field q]\ncolumn = q\ntype = sequence\nshare = c\nmulti_separator = |\n"
#define TRAIN "[embedding]\ndim = 4\ninit_stddev = 0.1\nlearning_rate = 0.1\n" \
	"[train]\nbatch_size = 64\nslots = 5\n"
#define COMMON TRAIN "epochs = 2\nlearning_rate = 0.01\n"
#define TOWERS "[tower user]\nfields = u,x\nhidden = 6,4\nactivation = tanh\n" \
	"[tower item]\nfields = i,c\nhidden = 5,4\nactivation = tanh\n" \
	"[items]\nkey = i\n"
#define DRAWN "[items]\nnegatives = 3\n"
#define TWO(loss) "[model]\ntype = two_tower\nloss = " loss "\n" DATA FIELDS NUMBER TOWERS COMMON

static const struct { const char *name, *text; } model[] = {
	{ "deepfm", "[model]\ntype = deepfm\n" DATA FIELDS NUMBER
		"[dnn]\nhidden = 9,7\nbatch_norm = yes\ndropout = 0.3\n" COMMON
		"clip_norm = 0.5\n" },
	{ "early", "[model]\ntype = deepfm\n" DATA FIELDS NUMBER
		"[dnn]\nhidden = 32,16\n" TRAIN
		"optimizer = adam\nearly_stop = 2\nepochs = 12\nlearning_rate = 0.03\n"
		"schedule = plateau\nplateau_factor = 0.5\nplateau_patience = 1\n" },
	{ "dcn", "[model]\ntype = dcn\n" DATA FIELDS NUMBER
		"[dcn]\nlayers = 2\n[dnn]\nhidden = 6\nbatch_norm = yes\n" COMMON },
	{ "din", "[model]\ntype = din\n" DATA FIELDS PAST
		"[dnn]\nhidden = 6\nactivation = dice\n[din]\nattention = 5\n" COMMON },
	{ "softmax", TWO("softmax") "[two_tower]\nlearn_temperature = yes\n" },
	{ "sampled", TWO("sampled_softmax") DRAWN },
	{ "full", TWO("full_softmax") },
	{ "bpr", TWO("bpr") DRAWN },
	{ "ccl", TWO("ccl") DRAWN },
	{ "catalogue", TWO("softmax") "early_stop = 1\nmonitor = recall@5\n"
		"[data]\ngroup = u\n[eval]\nmetrics = recall@5\ncandidates = catalogue\n" },
};

#define DEEP(train) "[model]\ntype = deepfm\n" DATA FIELDS NUMBER "[dnn]\nhidden = 5\n" TRAIN train

static const char diverging[] = DEEP("epochs = 2\nlearning_rate = 1000\noptimizer = sgd\n");
static const char saving[] = DEEP("epochs = 2\ncheckpoint_every = 0.0001\nkeep = 2\n");
static const char short_of_time[] = DEEP("epochs = 2\ntime_limit = 0.0001\n");

static const char *
spec_of(const char *name)
{
	for (size_t i = 0; i < N_ROWS(model); i++)
		if (strcmp(model[i].name, name) == 0)
			return model[i].text;
	fail_msg("no model %s", name);
	return NULL;
}

/* --- runs ------------------------------------------------------------------------ */

/* A rank whose memory changes under it. */
static void
started(void *context, const struct model *m, uint64_t total_rows)
{
	const struct job *job = context;

	(void)total_rows;
	if (job->corrupts)
		m->param[0] += 1;
}

static void *
run_rank(void *argument)
{
	struct job *job = argument;
	const struct train_options options = {
		.directory = job->rank == 0 ? job->directory : "/proc/none/of/yours",
		.resume = job->resume, .from = job->rank == 0 ? job->from : NULL,
		.callbacks = { .started = started, .context = job },
		.stop_signal = &job->signal, .kernel = "ref",
		.place = job->hub != NULL ? place_hub_rank(job->hub, job->rank) : NULL,
	};
	struct spec *spec;
	char text[4096];

	snprintf(text, sizeof text, job->spec, top, top);
	job->status = spec_load_text(text, "place_test", &spec);
	if (job->status == RS_OK && job->train != NULL)
		job->status = spec_set(spec, "data", "train", job->train);
	if (job->status == RS_OK && job->valid != NULL)
		job->status = spec_set(spec, "data", "valid", job->valid);
	if (job->status == RS_OK && job->hub != NULL)
		job->status = spec_set(spec, "cluster", "ps", "2");
	if (job->status == RS_OK)
		job->status = spec_set(spec, "train", "threads", job->threads > 1 ? "2" : "1");
	if (job->status == RS_OK)
		job->status = train_run(spec, &options, &job->summary);
	if (job->status != RS_OK)
		rs_failure_take(&job->failure);
	if (job->status != RS_OK && job->hub != NULL)
		place_hub_stop(job->hub);
	return NULL;
}

static void
free_jobs(struct job *job, size_t n)
{
	for (size_t r = 0; r < n; r++)
		train_summary_free(&job[r].summary);
}

/* Runs the jobs, whose specs and directories are set, as the ranks of hub. */
static void
run_jobs(struct job *job, size_t n, struct place_hub *hub)
{
	pthread_t thread[HUB_RANKS];

	for (size_t r = 0; r < n; r++) {
		job[r].rank = r;
		job[r].hub = hub;
		assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
	}
	for (size_t r = 0; r < n; r++)
		pthread_join(thread[r], NULL);
}

static void
name_directory(char out[300], const char *name, size_t n_ranks, enum hub_tables tables)
{
	snprintf(out, 300, "%s/%s-%zu%s", top, name, n_ranks,
		tables == HUB_SHARED ? "-shared" : "");
}

/* n_ranks 0: without a place. */
static void
train(const char *name, size_t n_ranks, enum hub_tables tables, char directory[300])
{
	struct job job[HUB_RANKS] = { 0 };
	struct place_hub *hub = n_ranks > 0 ? place_hub_open(n_ranks, tables) : NULL;
	const size_t n = n_ranks > 0 ? n_ranks : 1;

	name_directory(directory, name, n_ranks, tables);
	for (size_t r = 0; r < n; r++) {
		job[r].spec = spec_of(name);
		job[r].directory = directory;
		job[r].threads = n_ranks == 2 && r == 1 && name[0] == 's' ? 2 : 1;
	}
	run_jobs(job, n, hub);
	for (size_t r = 0; r < n; r++) {
		if (job[r].status != RS_OK)
			fail_msg("%s rank %zu of %zu: %s", name, r, n, job[r].failure.text);
		assert_int_equal(job[r].summary.version, job[0].summary.version);
		assert_memory_equal(&job[r].summary.valid.logloss, &job[0].summary.valid.logloss,
			sizeof(double));
		assert_memory_equal(&job[r].summary.loss, &job[0].summary.loss, sizeof(double));
	}
	free_jobs(job, n);
	if (hub != NULL)
		place_hub_close(hub);
}

static void
assert_same_file(const char *a, const char *b, const char *name)
{
	char path[2][800], *text[2];
	size_t n[2];

	snprintf(path[0], sizeof path[0], "%s/%s", a, name);
	snprintf(path[1], sizeof path[1], "%s/%s", b, name);
	for (int i = 0; i < 2; i++)
		assert_int_equal(file_read(path[i], (size_t)1 << 26, &text[i], &n[i]), RS_OK);
	if (n[0] != n[1] || memcmp(text[0], text[1], n[0]) != 0)
		fail_msg("'%s' and '%s' differ", path[0], path[1]);
	free(text[0]);
	free(text[1]);
}

/* The version CURRENT names. */
static void
current_version(const char *directory, char out[400])
{
	char path[400], *current;
	size_t n;

	snprintf(path, sizeof path, "%s/CURRENT", directory);
	assert_int_equal(file_read(path, 64, &current, &n), RS_OK);
	snprintf(out, 400, "%s/%.*s", directory, (int)strcspn(current, "\n"), current);
	free(current);
}

/* Every file of the current versions; with_manifest 0: but for MANIFEST. */
static void
assert_same_model(const char *a, const char *b, int with_manifest)
{
	char version[2][400];
	struct dirent *entry;
	size_t n_files = 0;

	current_version(a, version[0]);
	current_version(b, version[1]);
	DIR *d = opendir(version[0]);
	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.'
		    || (!with_manifest && strcmp(entry->d_name, "MANIFEST") == 0))
			continue;
		assert_same_file(version[0], version[1], entry->d_name);
		n_files++;
	}
	closedir(d);
	assert_true(n_files >= 4);
}

/* --- tests ------------------------------------------------------------------------- */

static void
L036_any_number_of_ranks_makes_the_version_of_one_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(model); i++) {
		char alone[300], together[300];

		train(model[i].name, 0, HUB_NONE, alone);
		for (size_t n = 1; n <= 4; n++) {
			train(model[i].name, n, HUB_SHARED, together);
			assert_same_model(alone, together, 1);
		}
		train(model[i].name, 3, HUB_NONE, together);
		assert_same_model(alone, together, 1);
	}
}

static void
start_all(struct job *job, size_t n, const char *spec, const char *directory)
{
	memset(job, 0, HUB_RANKS * sizeof *job);
	for (size_t r = 0; r < n; r++) {
		job[r].spec = spec;
		job[r].directory = directory;
	}
}

/* A signal that one rank sees ends all after the same step; fewer ranks then go on. */
static void
stop_and_resume(enum hub_tables tables)
{
	char directory[300], alone[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(4, tables);

	snprintf(directory, sizeof directory, "%s/stopped-%d", top, tables);
	start_all(job, 4, spec_of("softmax"), directory);
	job[2].signal = SIGTERM;
	run_jobs(job, 4, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 4; r++) {
		if (job[r].status != RS_ESIGNAL)
			fail_msg("rank %zu: %s", r, job[r].failure.text);
		assert_int_equal(job[r].signal, SIGTERM);
		assert_int_equal(job[r].summary.version, 1);
		assert_int_equal(job[r].summary.step, 1);
	}
	free_jobs(job, 4);

	hub = place_hub_open(3, tables);
	start_all(job, 3, spec_of("softmax"), directory);
	for (size_t r = 0; r < 3; r++)
		job[r].resume = 1;
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++)
		assert_int_equal(job[r].status, RS_OK);
	free_jobs(job, 3);
	name_directory(alone, "softmax", 0, HUB_NONE);
	assert_same_model(alone, directory, 0);
}

static void
a_signal_of_one_rank_stops_all_and_others_resume(void **state)
{
	(void)state;
	stop_and_resume(HUB_SHARED);
	stop_and_resume(HUB_NONE);
	stop_and_resume(HUB_OWN);
}

static void
a_failure_of_one_rank_is_a_lost_peer_to_the_others(void **state)
{
	char directory[300];

	(void)state;
	for (size_t kind = 0; kind < 4; kind++) {
		struct place_hub *hub = place_hub_open(3, HUB_SHARED);
		struct job job[HUB_RANKS];

		snprintf(directory, sizeof directory, "%s/failed-%zu", top, kind);
		start_all(job, 3, spec_of(kind < 2 ? "deepfm" : "softmax"), directory);
		if (kind % 2 == 0)
			place_hub_fail_pull(hub, 1, 40);
		else
			place_hub_fail_fetch(hub, 1, 3);
		run_jobs(job, 3, hub);
		place_hub_close(hub);
		for (size_t r = 0; r < 3; r++) {
			if (job[r].status != (r == 1 ? RS_ERESOURCE : RS_EPEER))
				fail_msg("rank %zu: %s", r, job[r].failure.text);
			assert_int_equal(job[r].summary.version, 0);
			if (kind == 0 && r != 1)
				assert_non_null(strstr(job[r].failure.text, "its part of step"));
		}
		free_jobs(job, 3);
	}
}

static void
a_loss_that_is_not_finite_is_told_alike_by_all(void **state)
{
	struct job job[HUB_RANKS], alone[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	start_all(alone, 1, diverging, NULL);
	start_all(job, 3, diverging, NULL);
	alone[0].directory = job[0].directory = top;
	run_jobs(alone, 1, NULL);
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	assert_int_equal(alone[0].status, RS_EDIVERGED);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDIVERGED);
		assert_string_equal(job[r].failure.text, alone[0].failure.text);
	}
	free_jobs(job, 3);
	free_jobs(alone, 1);
}

static void
all_save_when_rank_0_would(void **state)
{
	char directory[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	snprintf(directory, sizeof directory, "%s/saving", top);
	start_all(job, 3, saving, directory);
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_OK);
		assert_int_equal(job[r].summary.version, job[0].summary.version);
	}
	assert_true(job[0].summary.version >= 4);
	free_jobs(job, 3);
}

static void
the_time_limit_of_one_ends_all_after_the_same_step(void **state)
{
	char directory[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	snprintf(directory, sizeof directory, "%s/short", top);
	start_all(job, 3, short_of_time, directory);
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_OK);
		assert_int_equal(job[r].summary.out_of_time, 1);
		assert_int_equal(job[r].summary.step, 1);
	}
	free_jobs(job, 3);
}

static void
a_warm_start_is_the_same_in_all_ranks(void **state)
{
	char from[300], directory[2][300];

	(void)state;
	name_directory(from, "deepfm", 0, HUB_NONE);
	for (unsigned kind = 0; kind < 3; kind++) {
		struct place_hub *hub = kind > 0 ? place_hub_open(3, kind) : NULL;
		struct job job[HUB_RANKS];

		snprintf(directory[kind > 0], sizeof directory[0], "%s/warm-%u", top, kind);
		start_all(job, 3, spec_of("deepfm"), directory[kind > 0]);
		job[0].from = from;
		run_jobs(job, kind > 0 ? 3 : 1, hub);
		if (hub != NULL)
			place_hub_close(hub);
		for (size_t r = 0; r < (kind > 0 ? 3 : 1); r++)
			assert_int_equal(job[r].status, RS_OK);
		free_jobs(job, 3);
		if (kind > 0)
			assert_same_model(directory[0], directory[1], 1);
	}
}

static void
a_rank_with_other_parameters_is_found_and_named(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/corrupt", top);
	start_all(job, 3, spec_of("dcn"), directory);
	job[1].corrupts = 1;
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDIVERGED);
		assert_non_null(strstr(job[r].failure.text, "worker 1"));
		assert_int_equal(job[r].summary.version, 0);
	}
	free_jobs(job, 3);
}

static void
L007_the_rank_whose_data_differ_is_named(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300], other[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/other", top);
	snprintf(other, sizeof other, "%s/valid.csv", top);
	start_all(job, 3, spec_of("deepfm"), directory);
	job[2].train = other;
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDATA);
		assert_non_null(strstr(job[r].failure.text, "worker 2 has other training data"));
	}
	free_jobs(job, 3);
}

/* Rows that are fewer, more or others. */
static void
L068_the_rank_whose_validation_data_differ_is_named(void **state)
{
	static const struct { size_t n; uint64_t key; } rows[] = {
		{ 64, 8 }, { N_VALID + 5000, 8 }, { N_VALID, 9 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct place_hub *hub = place_hub_open(3, HUB_SHARED);
		char directory[300], other[300];
		struct job job[HUB_RANKS];

		write_rows("other.csv", rows[i].n, rows[i].key);
		snprintf(directory, sizeof directory, "%s/valid-%zu", top, i);
		snprintf(other, sizeof other, "%s/other.csv", top);
		start_all(job, 3, spec_of("catalogue"), directory);
		job[1].valid = other;
		run_jobs(job, 3, hub);
		place_hub_close(hub);
		for (size_t r = 0; r < 3; r++) {
			assert_int_equal(job[r].status, RS_EDATA);
			assert_non_null(strstr(job[r].failure.text,
				"worker 1 has other validation data"));
		}
		free_jobs(job, 3);
	}
}

static void
a_failed_start_of_rank_0_is_everyones(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	struct job job[HUB_RANKS];

	(void)state;
	start_all(job, 3, spec_of("deepfm"), "/proc/none/of/yours");
	run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, job[0].status);
		assert_string_equal(job[r].failure.text, job[0].failure.text);
		assert_int_not_equal(job[r].status, RS_EPEER);
	}
	free_jobs(job, 3);
}

static void
more_ranks_than_slots_are_refused(void **state)
{
	struct place_hub *hub = place_hub_open(6, HUB_SHARED);
	struct job job[HUB_RANKS];

	(void)state;
	start_all(job, 6, spec_of("deepfm"), "/proc/none/of/yours");
	run_jobs(job, 6, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 6; r++)
		assert_int_equal(job[r].status, RS_ESPEC);
	free_jobs(job, 6);
}

static int
set_up(void **state)
{
	if (tmpdir_make(state) != 0)
		return -1;
	top = *state;
	write_rows("train.csv", N_TRAIN, 7);
	write_rows("valid.csv", N_VALID, 8);
	log_set_level(LOG_ERROR);
	return 0;
}

static int
tear_down(void **state)
{
	return tmpdir_remove(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L036_any_number_of_ranks_makes_the_version_of_one_process),
		cmocka_unit_test(a_signal_of_one_rank_stops_all_and_others_resume),
		cmocka_unit_test(a_failure_of_one_rank_is_a_lost_peer_to_the_others),
		cmocka_unit_test(a_loss_that_is_not_finite_is_told_alike_by_all),
		cmocka_unit_test(all_save_when_rank_0_would),
		cmocka_unit_test(the_time_limit_of_one_ends_all_after_the_same_step),
		cmocka_unit_test(a_warm_start_is_the_same_in_all_ranks),
		cmocka_unit_test(a_rank_with_other_parameters_is_found_and_named),
		cmocka_unit_test(L007_the_rank_whose_data_differ_is_named),
		cmocka_unit_test(L068_the_rank_whose_validation_data_differ_is_named),
		cmocka_unit_test(a_failed_start_of_rank_0_is_everyones),
		cmocka_unit_test(more_ranks_than_slots_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
