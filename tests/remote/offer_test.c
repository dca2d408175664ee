/* What shards offer together. */
#include "lookup_bed.h"
#include "remote/offer.h"

static struct bed_worker worker[1];

static void
shards_offer_the_step_that_all_have(void **state)
{
	const struct bed_run run = { .n_ranks = 1, .n_threads = 1,
		.kind = ROW_ADAGRAD, .consistency = CONSISTENCY_SYNC };
	const uint8_t all[BED_SHARDS] = { 1, 1, 1 }, none[BED_SHARDS] = { 0 };
	const struct lookup_fetch nothing = { .n_workers = 1 };
	uint8_t has_rows[BED_SHARDS] = { 0 };
	struct offer o;
	struct bed b;

	(void)state;
	bed_open(&b, BED_SHARDS);
	memset(worker, 0, sizeof worker);
	assert_int_equal(bed_rank_open(&b, &run, 0, &worker->r), RS_OK);
	remote_lookup_shards(worker->r.lookup, has_rows);
	assert_memory_equal(has_rows, all, sizeof all);

	/* Rows that may still be set are those of no step. */
	struct client *const client = worker->r.client;
	const uint64_t name = remote_lookup_name(worker->r.lookup);
	assert_int_equal(offer_ask(client, 0, name, all, &o), RS_OK);
	assert_true(o.lowest > o.highest);
	assert_string_equal(o.why, "ps 0 has lost its tables");

	bed_train(&b, &run, worker, 1, 3);
	assert_int_equal(worker->r.lookup->ops->fetch(worker->r.lookup, &nothing), RS_OK);
	assert_int_equal(offer_ask(client, 0, name, all, &o), RS_OK);
	assert_int_equal(o.lowest, 2);             /* it can take a step back            */
	assert_int_equal(o.highest, 3);
	assert_string_equal(o.why, "");

	assert_int_equal(offer_ask(client, 0, name + 1, all, &o), RS_OK);
	assert_true(o.lowest > o.highest);
	assert_string_equal(o.why, "ps 0 has other tables");

	/* Nobody has rows: everything will do. */
	assert_int_equal(offer_ask(client, 0, name, none, &o), RS_OK);
	assert_true(o.lowest == 0 && o.highest == UINT64_MAX);
	bed_rank_close(&worker->r);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_offer_the_step_that_all_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
