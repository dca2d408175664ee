/* Small runs of all kinds of models, as ranks in threads. */
#include "place_run.h"

#include <dirent.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "base/rng.h"


char *place_run_top;

/* --- data and specs -------------------------------------------------------------- */

void
place_run_rows(const char *name, size_t n, uint64_t key)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", place_run_top, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "y,u,i,c,x,p,q\n");
	for (size_t b = 0; b < n; b++) {
		if (b % 7 == 3 && strcmp(name, "bad.csv") == 0)
			fprintf(f, "not a label,u1,i1,c1,0,,\n");
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
#define FEWER "[field u]\ncolumn = u\nbuckets = 40\n[field i]\ncolumn = i\nbuckets = 50\n"
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

#define DEEP(train) "[model]\ntype = deepfm\n" DATA FIELDS NUMBER "[dnn]\nhidden = 5\n" TRAIN train

#define WIDE "[model]\ntype = deepfm\n" DATA FIELDS NUMBER "[dnn]\nhidden = 32,16\n"
#define SWIFT "epochs = 4\noptimizer = adam\nlearning_rate = 0.01\n"
#define BRAIN "precision = bf16\n"

static const struct { const char *name, *text; } model[] = {
	{ "deepfm", "[model]\ntype = deepfm\n" DATA FIELDS NUMBER
		"[dnn]\nhidden = 9,7\nbatch_norm = yes\ndropout = 0.3\n" COMMON
		"clip_norm = 0.5\n" },
	{ "early", WIDE TRAIN "optimizer = adam\nearly_stop = 2\nepochs = 12\n"
		"learning_rate = 0.03\n"
		"schedule = plateau\nplateau_factor = 0.5\nplateau_patience = 1\n" },
	{ "wide", WIDE TRAIN SWIFT },
	{ "a_slot_each", WIDE "[embedding]\ndim = 4\n[train]\nbatch_size = 64\nslots = 3\n" SWIFT },
	{ "brain", WIDE TRAIN SWIFT BRAIN },
	{ "coarse", WIDE TRAIN SWIFT "[gpu]\ntf32 = yes\n" },
	{ "diverging_brain", WIDE TRAIN BRAIN
		"epochs = 2\nlearning_rate = 1000\noptimizer = sgd\n" },
	{ "dcn", "[model]\ntype = dcn\n" DATA FIELDS NUMBER
		"[dcn]\nlayers = 2\n[dnn]\nhidden = 6\nbatch_norm = yes\n" COMMON },
	{ "din", "[model]\ntype = din\n" DATA FIELDS PAST
		"[dnn]\nhidden = 6\nactivation = dice\n[din]\nattention = 5\n" COMMON },
	{ "softmax", TWO("softmax") "[two_tower]\nlearn_temperature = yes\n" },
	{ "sampled", TWO("sampled_softmax") DRAWN },
	{ "full", TWO("full_softmax") },
	{ "bpr", TWO("bpr") DRAWN },
	{ "ccl", TWO("ccl") DRAWN },
	{ "diverging", DEEP("epochs = 2\nlearning_rate = 1000\noptimizer = sgd\n") },
	{ "saving", DEEP("epochs = 2\ncheckpoint_every = 0.0001\nkeep = 2\n") },
	{ "short_of_time", DEEP("epochs = 2\ntime_limit = 0.0001\n") },
	{ "shuffled", "[model]\ntype = deepfm\n[data]\nformat = csv\nlabel = y\nshuffle = no\n"
		"command = head -n 1 %s/train.csv; tail -n +2 %s/train.csv | shuf\n"
		FIELDS "[dnn]\nhidden = 5\n" COMMON },
	{ "bad", "[model]\ntype = deepfm\n[data]\ntrain = %s/bad.csv\nvalid = %s/valid.csv\n"
		"format = csv\nlabel = y\non_bad_row = skip\n" FEWER "[dnn]\nhidden = 5\n" TRAIN
		"epochs = 2\n" },
	{ "files", "[model]\ntype = deepfm\n[data]\ntrain = %s/piece-*.csv\nvalid = %s/valid.csv\n"
		"format = csv\nlabel = y\n" FIELDS "[dnn]\nhidden = 5\n" TRAIN "epochs = 2\n" },
	{ "catalogue", TWO("softmax") "early_stop = 1\nmonitor = recall@5\n"
		"[data]\ngroup = u\n[eval]\nmetrics = recall@5\ncandidates = catalogue\n" },
};

const char *
place_run_spec(const char *name)
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
	struct job *job = context;

	(void)total_rows;
	job->lookup = m->lookup->ops->name;
	snprintf(job->why_host, sizeof job->why_host, "%s", m->why_host);
	snprintf(job->why_tables, sizeof job->why_tables, "%s", m->why_tables);
	if (job->corrupts)
		m->param[0] += 1;
}

static void
note_epoch(void *context, const struct train_epoch *e)
{
	struct job *job = context;

	if (e->epoch < N_ROWS(job->epoch))
		job->epoch[e->epoch] = *e;
}

static void *
run_rank(void *argument)
{
	struct job *job = argument;
	struct train_place place;
	struct train_options options = {
		.directory = job->rank == 0 ? job->directory : "/proc/none/of/yours",
		.resume = job->resume, .continues = job->resume && job->live != NULL,
		.live = job->live, .from = job->rank == 0 ? job->from : NULL,
		.callbacks = { .started = started, .epoch = note_epoch, .context = job },
		.stop_signal = &job->signal, .kernel = "ref", .gpu = job->gpu,
		.place = job->hub != NULL ? place_hub_rank(job->hub, job->rank) : NULL,
	};
	struct spec *spec;
	char text[4096];

	snprintf(text, sizeof text, job->spec, place_run_top, place_run_top);
	job->status = spec_load_text(text, "place_test", &spec);
	if (job->status == RS_OK && job->train != NULL)
		job->status = spec_set(spec, "data", "train", job->train);
	if (job->status == RS_OK && job->valid != NULL)
		job->status = spec_set(spec, "data", "valid", job->valid);
	if (job->status == RS_OK && job->policy != NULL)
		job->status = spec_set(spec, "cluster", "policy", job->policy);
	if (job->status == RS_OK && job->tables != NULL)
		job->status = spec_set(spec, "gpu", "tables", job->tables);
	if (job->status == RS_OK && job->device != NULL)
		job->status = spec_set(spec, "placement", "device", job->device);
	if (job->status == RS_OK && job->hub != NULL)
		job->status = spec_set(spec, "cluster", "ps", "2");
	if (job->status == RS_OK)
		job->status = spec_set(spec, "train", "threads", job->threads > 1 ? "2" : "1");
	if (job->status == RS_OK && job->cover != NULL) {
		place = *options.place;
		options.place = &place;
		job->status = job->cover(job, &place);
	}
	if (job->status == RS_OK)
		job->status = train_run(spec, &options, &job->summary);
	if (job->status != RS_OK)
		rs_failure_take(&job->failure);
	if (options.place == &place)
		place.exchange->ops->close(place.exchange);
	if (job->status != RS_OK && job->hub != NULL)
		place_hub_stop(job->hub);
	return NULL;
}

void
place_run_free(struct job *job, size_t n)
{
	for (size_t r = 0; r < n; r++)
		train_summary_free(&job[r].summary);
}

/* Runs the jobs, whose specs and directories are set, as the ranks of hub. */
void
place_run_jobs(struct job *job, size_t n, struct place_hub *hub)
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

void
place_run_directory(char out[300], const char *name, size_t n_ranks, enum hub_tables tables)
{
	snprintf(out, 300, "%s/%s-%zu%s", place_run_top, name, n_ranks,
		tables == HUB_SHARED ? "-shared" : "");
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
void
place_run_assert_same(const char *a, const char *b, int with_manifest)
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

void
place_run_begin(struct job *job, size_t n, const char *spec, const char *directory)
{
	memset(job, 0, HUB_RANKS * sizeof *job);
	for (size_t r = 0; r < n; r++) {
		job[r].spec = spec;
		job[r].directory = directory;
	}
}

int
place_run_set_up(void **state)
{
	if (tmpdir_make(state) != 0)
		return -1;
	place_run_top = *state;
	place_run_rows("train.csv", N_TRAIN, 7);
	place_run_rows("valid.csv", N_VALID, 8);
	place_run_rows("bad.csv", N_TRAIN, 9);
	for (size_t i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof name, "piece-%zu.csv", i);
		place_run_rows(name, 40 + 11 * i, 20 + i);
	}
	log_set_level(LOG_ERROR);
	return 0;
}

int
place_run_tear_down(void **state)
{
	return tmpdir_remove(state);
}
