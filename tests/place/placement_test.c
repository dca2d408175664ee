/* The planner: which mode and dense plane, what is refused, what the wire carries. */
#include "../test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "kernel/kernel.h"
#include "place/placement.h"
#include "remote/body.h"
#include "tests/kernel/emulated_gpu.h"
#include "train/step.h"

#define SPEC \
	"[model]\ntype = deepfm\n[data]\ntrain = %s\nlabel = 1\n" \
	"[field C1]\ncolumn = 2\ntype = categorical\nbuckets = 4000\n" \
	"[field C2]\ncolumn = 3\ntype = categorical\nbuckets = 6\n" \
	"[embedding]\ndim = 16\n[train]\nbatch_size = 4096\n"

static const struct placement_host host = {
	.memory_bytes = (uint64_t)1 << 40, .n_cores = 4, .n_hosts = 1,
	.no_mpi = "no mpirun", .no_nccl = "no CUDA", .has_messages = 1,
};

static struct model *
make_shape_on(struct gpu_memory *gpu, const char *files, const char *more)
{
	struct model_options options = { .for_training = 1, .shape_only = 1, .gpu = gpu };
	struct model *m;
	struct spec *spec;
	char text[4096];

	snprintf(text, sizeof(text), SPEC "%s%s", files, more,
		strstr(more, "[dnn]") != NULL ? "" : "[dnn]\nhidden = 8\n");
	assert_int_equal(spec_load_text(text, "test.ini", &spec), RS_OK);
	options.tables = spec_settings(spec)->gpu.tables;
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	assert_null(m->lookup);
	return m;
}

static struct model *
make_shape_of(const char *files, const char *more)
{
	return make_shape_on(NULL, files, more);
}

static struct model *
make_shape(const char *more)
{
	return make_shape_of("none.tsv", more);
}

struct placement_case {
	const char *spec;
	enum rs_status status;         /* of placement_make(); below: when it is RS_OK */
	enum placement_mode mode;
	enum dense_plane dense;
	size_t n_workers, n_ps;
	const char *text;              /* in the reasons, or in the failure            */
	struct placement_host host;
};

static const struct placement_case placement_cases[] = {
	{ "", RS_OK, PLACE_LOCAL, PLANE_SHM, 1, 0, "one process", host },
	{ "[cluster]\nworkers = 2\nps = 3\n", RS_OK, PLACE_HYBRID, PLANE_SHM, 2, 3,
	  "3 shards are asked for", host },
	{ "[cluster]\nworkers = 2\n", RS_OK, PLACE_HYBRID, PLANE_SHM, 2, 1, "at least 70 %", host },
	{ "[dnn]\nhidden = 4000\n[cluster]\nworkers = 2\n", RS_OK, PLACE_ALLREDUCE, PLANE_SHM, 2,
	  0, "less than 70 %", host },
	{ "[placement]\nmode = ps\n[cluster]\nworkers = 2\n", RS_OK, PLACE_PS, PLANE_PUSHPULL, 2,
	  1, "mode = ps", host },
	{ "[cluster]\nworkers = 4\nps = 2\n", RS_OK, PLACE_HYBRID, PLANE_MPI, 4, 2,
	  "not nccl: no CUDA", { (uint64_t)1 << 40, 4, 1, NULL, "no CUDA", 1, NULL, 0 } },
	{ "[cluster]\nworkers = 4\nps = 2\n", RS_OK, PLACE_HYBRID, PLANE_PUSHPULL, 4, 2,
	  "not shm: workers are on several hosts",
	  { (uint64_t)1 << 40, 4, 2, "no mpirun", "no CUDA", 1, NULL, 0 } },
	{ "[cluster]\nworkers = 9\n", RS_ESPEC, .text = "9 workers, but a batch has 8 slots",
	  .host = host },
	{ "[placement]\nmode = local\n[cluster]\nps = 1\n", RS_ESPEC,
	  .text = "does not go with cluster.ps = 1", .host = host },
	{ "[placement]\nmode = allreduce\n[cluster]\nworkers = 2\nps = 1\n", RS_ESPEC,
	  .text = "does not go with cluster.ps = 1", .host = host },
	{ "[placement]\ndense = nccl\n[cluster]\nworkers = 2\nps = 1\n", RS_EPEER,
	  .text = "cannot be: no CUDA", .host = host },
	{ "[placement]\nmode = allreduce\ndense = pushpull\n[cluster]\nworkers = 2\n", RS_ESPEC,
	  .text = "no shard to push to", .host = host },
	{ "[cluster]\nworkers = 2\nps = 1\n", RS_ERESOURCE, .text = "do not fit",
	  .host = { 1 << 20, 4, 1, "no mpirun", "no CUDA", 1, NULL, 0 } },
	{ "[cluster]\nworkers = 2\nps = 1\n", RS_EUSAGE, .text = "no ZeroMQ",
	  .host = { (uint64_t)1 << 40, 4, 1, "no mpirun", "no CUDA", 0, NULL, 0 } },
};

static void
a_placement_follows_the_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(placement_cases); i++) {
		const struct placement_case *c = &placement_cases[i];
		struct model *shape = make_shape(c->spec);
		struct placement p;

		assert_int_equal(placement_make(shape, &c->host, &p), c->status);
		if (c->status != RS_OK) {
			if (strstr(rs_failure()->text, c->text) == NULL)
				fail_msg("case %zu: %s", i, rs_failure()->text);
			model_free(shape);
			continue;
		}
		assert_int_equal(p.mode, c->mode);
		assert_int_equal(p.dense, c->dense);
		assert_int_equal(p.n_workers, c->n_workers);
		assert_int_equal(p.n_ps, c->n_ps);
		if (strstr(p.why_mode, c->text) == NULL && strstr(p.why_dense, c->text) == NULL)
			fail_msg("case %zu: %s; %s", i, p.why_mode, p.why_dense);
		placement_free(&p);
		model_free(shape);
	}
}

/* GPUs of a host, hosts, what the spec says; the plane and what carries the rest. */
static void
gpus_sum_when_every_worker_has_one(void **state)
{
	static const struct {
		const char *placement, *cluster;
		size_t n_gpus, n_hosts;
		const char *no_mpi;
		enum rs_status status;
		enum dense_plane dense, carrier;
		int asks;
		const char *text;
	} c[] = {
		{ "", "", 2, 1, "no mpirun", RS_OK, PLANE_NCCL, PLANE_SHM, 1,
		  "every worker has a GPU; all but gradients over shm (not mpi: no mpirun)" },
		{ "", "", 0, 1, NULL, RS_OK, PLANE_NCCL, PLANE_MPI, 1,
		  "if every worker has a GPU; all but gradients over mpi" },
		{ "", "", 1, 1, "no mpirun", RS_OK, PLANE_SHM, PLANE_SHM, 1,
		  "not nccl: a host has fewer GPUs than workers" },
		{ "dense = nccl\n", "", 1, 1, NULL, RS_ESPEC, 0, 0, 0,
		  "placement.dense = nccl cannot be: a host has fewer GPUs than workers" },
		{ "dense = nccl\n", "", 3, 1, "no mpirun", RS_OK, PLANE_NCCL, PLANE_SHM, 0,
		  "placement.dense = nccl says so; all but gradients over shm" },
		{ "", "", 1, 2, "no mpirun", RS_OK, PLANE_PUSHPULL, PLANE_PUSHPULL, 0,
		  "not nccl: NCCL does not encrypt" },
		{ "dense = nccl\n", "", 1, 2, NULL, RS_ESPEC, 0, 0, 0,
		  "cluster.trusted_interface names no network" },
		{ "", "trusted_interface = wg0\n", 1, 2, "no mpirun", RS_OK, PLANE_NCCL,
		  PLANE_PUSHPULL, 1, "all but gradients over pushpull" },
		{ "device = cpu\n", "", 2, 1, "no mpirun", RS_OK, PLANE_SHM, PLANE_SHM, 0,
		  "not nccl: placement.device = cpu" },
		{ "device = cpu\ndense = nccl\n", "", 2, 1, NULL, RS_ESPEC, 0, 0, 0,
		  "cannot be: placement.device = cpu" },
		{ "mode = ps\n", "", 2, 1, NULL, RS_OK, PLANE_PUSHPULL, PLANE_PUSHPULL, 0,
		  "mode = ps" },
		{ "dense = shm\n", "", 2, 1, NULL, RS_OK, PLANE_SHM, PLANE_SHM, 0, "says so" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(c); i++) {
		struct placement_host h = host;
		struct placement p;
		char more[256];

		snprintf(more, sizeof(more), "[placement]\n%s[cluster]\nworkers = 2\nps = 1\n%s",
			c[i].placement, c[i].cluster);
		struct model *shape = make_shape(more);
		h.no_nccl = NULL;
		h.no_mpi = c[i].no_mpi;
		h.n_gpus = c[i].n_gpus;
		h.n_hosts = c[i].n_hosts;
		assert_int_equal(placement_make(shape, &h, &p), c[i].status);
		const char *const text = c[i].status == RS_OK ? p.why_dense : rs_failure()->text;
		if (strstr(text, c[i].text) == NULL)
			fail_msg("case %zu: %s", i, text);
		if (c[i].status == RS_OK) {
			assert_int_equal(p.dense, c[i].dense);
			assert_int_equal(p.carrier, c[i].carrier);
			assert_int_equal(p.asks_for_nccl, c[i].asks);
			placement_free(&p);
		}
		model_free(shape);
	}
}

/* What of the exchange can be hidden: nothing on one host, but for GPUs. */
static void
buckets_are_cut_where_cores_have_nothing_to_do_with_it(void **state)
{
	static const struct {
		const char *spec;
		size_t n_hosts, n_gpus, n_buckets;
		const char *why;
	} c[] = {
		{ "", 1, 0, 1, "nothing to exchange" },
		{ "workers = 2\nps = 1\n", 1, 0, 1, "on one host" },
		{ "workers = 2\nps = 1\n", 1, 1, 1, "on one host" },
		{ "workers = 2\nps = 1\n", 1, 2, 4, "GPUs sum" },
		{ "workers = 1\nps = 1\n[placement]\ndense = nccl\n", 1, 2, 1, "nothing to" },
		{ "workers = 2\nps = 1\n[placement]\ndense = nccl\n", 1, 0, 4, "GPUs sum" },
		{ "workers = 2\nps = 1\n[placement]\ndense = shm\n", 1, 2, 1, "on one host" },
		{ "workers = 2\nps = 1\n", 2, 0, 4, "the wire" },
		{ "workers = 2\nps = 1\nbucket_bytes = 512k\n", 1, 0, 4, "says so" },
		{ "workers = 2\nps = 1\nbucket_bytes = 64M\n", 2, 0, 1, "says so" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(c); i++) {
		struct placement_host h = host;
		struct placement p;
		char more[256];

		snprintf(more, sizeof(more), "[dnn]\nhidden = 256,512,512,512\n[cluster]\n%s",
			c[i].spec);
		struct model *shape = make_shape(more);

		h.n_hosts = c[i].n_hosts;
		h.n_gpus = c[i].n_gpus;
		h.no_nccl = NULL;
		assert_int_equal(placement_make(shape, &h, &p), RS_OK);
		assert_int_equal(p.n_buckets, c[i].n_buckets);
		assert_non_null(strstr(p.why_buckets, c[i].why));
		placement_free(&p);
		model_free(shape);
	}
}

static void
write_bytes(const char *top, const char *name, size_t n)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		fputc('\n', f);
	assert_int_equal(fclose(f), 0);
}

/* Files a and b are about even, c is small. */
static void
rows_are_dealt_by_file_when_nothing_is_lost_by_it(void **state)
{
	static const struct {
		const char *files, *consistency, *more;
		size_t n_hosts;
		enum policy policy;
		const char *why;
	} c[] = {
		{ "a,b", "sync", "", 1, POLICY_RECORD, "bits of one process" },
		{ "a,b", "async", "", 1, POLICY_FILE, "2 files are about even" },
		{ "[ab]", "ssp", "", 1, POLICY_FILE, "2 files are about even" },
		{ "a,b", "async", "", 2, POLICY_RECORD, "hosts may not" },
		{ "a,c", "async", "", 1, POLICY_RECORD, "10 % of another's" },
		{ "a", "async", "", 1, POLICY_RECORD, "1 training file for 2" },
		{ "a,none", "async", "", 1, POLICY_RECORD, "not here" },
		{ "a,b", "async", "policy = record\n", 1, POLICY_RECORD, "says so" },
		{ "a,c", "sync", "policy = file\n", 1, POLICY_FILE, "says so" },
		{ "a,b", "async", "[field X]\ncolumn = 4\ntype = numeric\n"
			"transform = standardize\n", 1, POLICY_RECORD, "a pass over all rows" },
	};
	write_bytes(*state, "a", 1000);
	write_bytes(*state, "b", 850);
	write_bytes(*state, "c", 100);
	assert_int_equal(chdir(*state), 0);
	for (size_t i = 0; i < N_ROWS(c); i++) {
		char more[1200];
		struct placement_host h = host;
		struct placement p;

		snprintf(more, sizeof(more), "[placement]\nconsistency = %s\n[cluster]\n"
			"workers = 2\nps = 1\n%s", c[i].consistency, c[i].more);
		struct model *shape = make_shape_of(c[i].files, more);

		h.n_hosts = c[i].n_hosts;
		assert_int_equal(placement_make(shape, &h, &p), RS_OK);
		if (p.policy.policy != c[i].policy || strstr(p.policy.why, c[i].why) == NULL)
			fail_msg("case %zu: %s", i, p.policy.why);
		placement_free(&p);
		model_free(shape);
	}
	assert_int_equal(chdir("/"), 0);
}

/* torchrec#3652: a table that nobody placed is silently not there. */
static void
L024_every_table_and_every_row_has_a_shard(void **state)
{
	struct model *shape = make_shape("[cluster]\nworkers = 1\nps = 3\n");
	uint64_t rows = 0, wanted = 0;
	struct placement p;

	(void)state;
	assert_int_equal(placement_make(shape, &host, &p), RS_OK);
	assert_int_equal(p.n_tables, 4);
	for (size_t t = 0; t < p.n_tables; t++) {
		assert_true(p.table[t].n_parts >= 1);
		wanted += p.table[t].rows;
	}
	for (size_t s = 0; s < p.n_ps; s++)
		rows += p.shard[s].rows;
	assert_true(rows == wanted);
	assert_true(wanted == 2 * (4001 + 7));
	placement_free(&p);
	model_free(shape);
}

struct weight { uint64_t worker; size_t exec, n_threads; };

static struct weight
weight_of(const char *precision)
{
	struct placement p;
	struct weight out;
	char more[200];
	size_t N[8];

	snprintf(more, sizeof more, "precision = %s\nslots = 8\n[dnn]\nhidden = 256,128\n",
		precision);
	struct model *const shape = make_shape(more);
	assert_int_equal(placement_make(shape, &host, &p), RS_OK);
	assert_true(graph_n_inputs(shape->graph) <= N_ROWS(N));
	for (size_t i = 0; i < N_ROWS(N); i++)
		N[i] = 512;
	out = (struct weight){ p.worker_bytes, exec_bytes(shape->graph, STEP_PREDICT_CHUNK, N),
		p.n_threads };
	placement_free(&p);
	model_free(shape);
	return out;
}

/* Layers of 32 x 256 and 256 x 128, whose weights are for all threads; each has room for the
 * rows and gradients of the larger one. */
static void
products_in_two_bytes_are_weighed(void **state)
{
	const uint64_t packed = (32 * 256 + 256 * 128) * sizeof(float);
	const uint64_t scratch = 512 * (256 + 128) * sizeof(float);

	(void)state;
	assert_int_equal(kernel_force("ref"), RS_OK);
	const struct weight fp32 = weight_of("fp32"), bf16 = weight_of("bf16");
	assert_int_equal(kernel_force("auto"), RS_OK);
	assert_true(bf16.n_threads > 0);
	assert_int_equal(bf16.worker - fp32.worker,
		packed + bf16.n_threads * (bf16.exec - fp32.exec + scratch));
}

/* Of eight workers of a slot each: its gradient and the sum of all, of which GPUs leave the
 * sum. */
static void
gradients_that_gpus_sum_are_not_weighed_here(void **state)
{
	struct model *const shape = make_shape("[dnn]\nhidden = 1024,1024\n[cluster]\n"
		"workers = 8\n");
	const size_t bytes = shape->P * sizeof(float), one = (bytes + 63) / 64 * 64;
	struct placement_host with = host;
	struct placement there, here;

	(void)state;
	with.no_nccl = NULL;
	with.n_gpus = 8;
	assert_int_equal(placement_make(shape, &host, &here), RS_OK);
	assert_int_equal(placement_make(shape, &with, &there), RS_OK);
	assert_int_equal(here.dense, PLANE_SHM);
	assert_int_equal(there.dense, PLANE_NCCL);
	assert_int_equal(here.worker_bytes - there.worker_bytes,
		large_size(2 * one) - large_size(one));
	placement_free(&here);
	placement_free(&there);
	/* Whether there are GPUs is not known. */
	with.n_gpus = 0;
	assert_int_equal(placement_make(shape, &with, &there), RS_OK);
	assert_int_equal(placement_make(shape, &host, &here), RS_OK);
	assert_int_equal(there.dense, PLANE_NCCL);
	assert_int_equal(here.worker_bytes, there.worker_bytes);
	placement_free(&here);
	placement_free(&there);
	model_free(shape);
}

/* Those of the rows of a slot stay on the GPU with the tables. */
static void
gradients_of_rows_on_a_gpu_are_not_weighed_here(void **state)
{
	static struct gpu_memory gpu = { .gpu = &gpu_emulated };
	struct placement p[2];
	size_t rows_bytes = 0, slots = 0;

	(void)state;
	for (size_t i = 0; i < N_ROWS(p); i++) {
		struct model *const shape = make_shape_on(&gpu, "none.tsv", i == 0
			? "[gpu]\ntables = host\n" : "[gpu]\ntables = gpu\n");

		assert_int_equal(graph_rows_are_there(shape->graph), i == 1);
		assert_int_equal(placement_make(shape, &host, &p[i]), RS_OK);
		assert_int_equal(row_grads_gpu_bytes(shape->graph, 512, &rows_bytes), RS_OK);
		slots = p[i].n_slots;
		model_free(shape);
	}
	assert_int_equal(slots, 8);
	assert_true(rows_bytes >= 512 * 2 * 16 * sizeof(float));       /* C1 and C2 */
	assert_int_equal(p[0].worker_bytes - p[1].worker_bytes, slots * large_size(rows_bytes));
	for (size_t i = 0; i < N_ROWS(p); i++)
		placement_free(&p[i]);
}

/* One row whose ids are 5 and 300, seen by two workers of one slot each. */
static void
traffic_is_what_the_messages_weigh(void **state)
{
	struct model *shape = make_shape("[cluster]\nworkers = 2\nps = 1\n[train]\nslots = 2\n");
	/* A pull: header, two sections a field, keys once for twins (1 byte each but
	 * 300: 2); its answer: touched bits, 16 + 1 floats a key.  Every worker has row 5
	 * of C2, worker 0 row 300 of C1, worker 1 row 5 of it. */
	const double pull = 2 * (2 * 64 + 4 * 20) + (2 + 1) + (1 + 1) + 8.0 / 8 + 4 * 17 * 4;
	const double push = 2 * (2 * 64 + 32 + 8 + 4 * 20) + (2 + 1) + (1 + 1) + 4 * 17 * 4;
	struct placement p;
	struct batch batch;

	(void)state;
	assert_int_equal(sizeof(struct body_push) + sizeof(struct body_clock), 40);
	assert_int_equal(placement_make(shape, &host, &p), RS_OK);
	assert_int_equal(batch_init(&batch, &shape->schema), RS_OK);
	assert_int_equal(batch_reserve(&batch, 2), RS_OK);
	batch.B = 2;
	for (size_t f = 0; f < 2; f++) {
		assert_int_equal(batch_reserve_ids(&batch, f, 2), RS_OK);
		batch.column[f].N = 2;
		batch.column[f].ids[0] = f == 0 ? 300 : 5;
		batch.column[f].ids[1] = 5;
		if (batch.column[f].offset != NULL)
			for (uint32_t b = 0; b <= 2; b++)
				batch.column[f].offset[b] = b;
	}
	assert_int_equal(placement_measure(&p, shape, &(struct placement_sample){
		.batch = &batch, .n = 1 }), RS_OK);
	assert_float_equal(p.shard[0].pull_bytes, pull, 1e-9);
	assert_float_equal(p.shard[0].push_bytes, push, 1e-9);
	assert_float_equal(p.table[0].occurrences, 2, 0);
	assert_float_equal(p.table[0].keys, 2, 0);
	batch_free(&batch);
	placement_free(&p);
	model_free(shape);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_placement_follows_the_rules),
		cmocka_unit_test(gpus_sum_when_every_worker_has_one),
		cmocka_unit_test(buckets_are_cut_where_cores_have_nothing_to_do_with_it),
		cmocka_unit_test_setup_teardown(rows_are_dealt_by_file_when_nothing_is_lost_by_it,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(L024_every_table_and_every_row_has_a_shard),
		cmocka_unit_test(products_in_two_bytes_are_weighed),
		cmocka_unit_test(gradients_that_gpus_sum_are_not_weighed_here),
		cmocka_unit_test(gradients_of_rows_on_a_gpu_are_not_weighed_here),
		cmocka_unit_test(traffic_is_what_the_messages_weigh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
