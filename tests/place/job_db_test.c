/* job.db: what is written is there again, of this job and of no other. */
#include "tests/test.h"

#include <string.h>

#include "base/file.h"
#include "place/job_db.h"

struct bed {
	char directory[32];
	struct job job;
	struct cluster_settings cluster;
};

static void
bed_open(struct bed *b)
{
	*b = (struct bed){ .directory = "/tmp/job_db_test.XXXXXX", .job = { .id = UINT64_MAX - 1,
		.n_workers = 1, .n_ps = 1, .config = UINT64_MAX } };
	assert_non_null(mkdtemp(b->directory));
	assert_int_equal(job_make_nodes(&b->job, 0), RS_OK);
}

static void
bed_close(struct bed *b)
{
	job_free(&b->job);
	assert_int_equal(file_remove_tree(b->directory), RS_OK);
}

static void
write_one(struct bed *b)
{
	const struct roster_hello h = { .nonce = UINT64_MAX, .pid = 4, .endpoint = "ipc:///x y",
		.public_key = "k", .host = "h", .name = "n" };
	struct roster r;
	struct job_db *d;

	assert_int_equal(roster_init(&r, &b->job, &b->cluster, 1), RS_OK);
	assert_int_equal(job_db_open(b->directory, &r, 1, &d), RS_OK);
	assert_int_equal(r.epoch, 0);
	r.last_incarnation = 6;
	assert_int_equal(roster_hello(&r, 1, &h, 1), RS_OK);
	assert_int_equal(roster_hello(&r, 2, &h, 1), RS_OK);
	assert_int_equal(r.phase, ROSTER_ROUND);
	rs_fail_at(RS_EDATA, "day.tsv", 3, 1, "so it is");
	rs_hint("or not");
	rs_failure_take(&r.failure);
	r.finished = 1;
	assert_int_equal(job_db_save(d, &r), RS_OK);
	assert_false(r.dirty || r.node[1].dirty || r.node[2].dirty);
	job_db_close(d);
	roster_free(&r);
}

static void
a_coordinator_finds_what_it_wrote(void **state)
{
	struct bed b;
	struct roster r;
	struct job_db *d;

	(void)state;
	bed_open(&b);
	write_one(&b);
	assert_int_equal(roster_init(&r, &b.job, &b.cluster, 50), RS_OK);
	assert_int_equal(job_db_open(b.directory, &r, 50, &d), RS_OK);
	assert_int_equal(r.phase, ROSTER_ROUND);
	assert_int_equal(r.epoch, 1);
	assert_int_equal(r.last_incarnation, 8);
	assert_true(r.finished);
	assert_int_equal(r.failure.status, RS_EDATA);
	assert_string_equal(r.failure.text, "so it is");
	assert_string_equal(r.failure.hint, "or not");
	assert_string_equal(r.failure.where, "day.tsv:3:1");
	for (size_t i = 1; i < 3; i++) {
		const struct roster_node *node = &r.node[i];

		assert_int_equal(node->state, ROSTER_IN);
		assert_int_equal(node->incarnation, 6 + i);
		assert_true(node->nonce == UINT64_MAX && node->pid == 4 && node->heard == 50);
		assert_string_equal(node->endpoint, "ipc:///x y");
		assert_string_equal(node->public_key, "k");
		assert_string_equal(node->host, "h");
		assert_string_equal(node->name, "n");
	}
	job_db_close(d);
	roster_free(&r);
	bed_close(&b);
}

static void
another_job_begins_anew(void **state)
{
	struct bed b;
	struct roster r;
	struct job_db *d;

	(void)state;
	bed_open(&b);
	write_one(&b);
	b.job.id = 5;
	for (int i = 0; i < 2; i++) {       /* the second time it is the first's again */
		assert_int_equal(roster_init(&r, &b.job, &b.cluster, 50), RS_OK);
		assert_int_equal(job_db_open(b.directory, &r, 50, &d), RS_OK);
		assert_int_equal(r.phase, ROSTER_GATHERING);
		assert_int_equal(r.epoch, 0);
		assert_int_equal(r.node[1].incarnation, 0);
		job_db_close(d);
		roster_free(&r);
		b.job.id = UINT64_MAX - 1;
	}
	bed_close(&b);
}

static void
what_is_no_database_is_refused_by_name(void **state)
{
	struct bed b;
	struct roster r;
	struct job_db *d;
	char path[64], junk[4096];

	(void)state;
	bed_open(&b);
	memset(junk, 'x', sizeof(junk));
	snprintf(path, sizeof(path), "%s/job.db", b.directory);
	assert_int_equal(file_replace(path, junk, sizeof(junk)), RS_OK);
	assert_int_equal(roster_init(&r, &b.job, &b.cluster, 1), RS_OK);
	assert_int_equal(job_db_open(b.directory, &r, 1, &d), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "job database"));
	assert_non_null(strstr(rs_failure()->text, path));
	roster_free(&r);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(a_coordinator_finds_what_it_wrote),
		cmocka_unit_test(another_job_begins_anew),
		cmocka_unit_test(what_is_no_database_is_refused_by_name),
	};

	return cmocka_run_group_tests_name("place/job_db", test, NULL, NULL);
}
