/* What a shard holds from one round to the next. */
#include "tests/remote/shard_bed.h"

static struct bed b;

static struct body_offer
offer_of(size_t shard)
{
	const struct frame f = bed_frame(&b, FRAME_OFFER, 0, 0);
	struct body_offer offer;

	assert_int_equal(bed_ask(&b, shard, &f, NULL, FRAME_OFFER_R, &offer, sizeof(offer)),
		sizeof(offer));
	return offer;
}

static uint64_t
tables(void)
{
	struct buffer body;
	uint64_t hash;

	bed_init_body(&b, &body);
	hash = body_init_hash(body.data, body.n);
	buffer_free(&body);
	return hash;
}

/* The next round goes on with this step, or wants to. */
static void
next_round(uint64_t first_step)
{
	bed_stop_round(&b);
	bed_start_round(&b);
	b.keep = 1;
	b.first_step = first_step;
}

static void
refused(const char *why)
{
	const struct frame f = bed_frame(&b, FRAME_INIT_TABLE, 0, 0);
	struct buffer body;

	bed_init_body(&b, &body);
	bed_refused(&b, 0, &f, &body, why);
	buffer_free(&body);
}

static void
a_shard_offers_its_last_step_and_keeps_it(void **state)
{
	struct body_offer offer;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	offer = offer_of(0);
	assert_true(offer.lowest > offer.applied);
	bed_push_count(&b, 0, 1, 3);
	bed_push_count(&b, 1, 1, 5);
	bed_push_count(&b, 0, 2, 100);
	next_round(2);
	offer = offer_of(0);
	assert_true(offer.tables == tables());
	assert_true(offer.lowest <= 1 && offer.applied == 1);
	bed_init(&b);
	assert_true(bed_read_count(&b, 0, 2) == -8);
	/* What was staged beyond it is forgotten. */
	bed_push_count(&b, 0, 2, 7);
	bed_push_count(&b, 1, 2, 11);
	assert_true(bed_read_count(&b, 0, 3) == -26);
	bed_close(&b);
}

/* A step taken back takes back the rows that it made. */
static void
a_row_of_an_exact_table_goes_with_the_step_that_made_it(void **state)
{
	float rows[9];
	uint8_t touched[9];

	bed_open_counter_of(&b, TABLE_EXACT, *state, CONSISTENCY_SYNC, 0, 1);
	bed_push_count(&b, 0, 1, 3);
	next_round(1);
	bed_init(&b);
	bed_pull_part(&b, 0, 1, &b.parts.part[0], rows, touched);
	assert_false(touched[0]);
	assert_true(rows[0] == 0);
	bed_push_count(&b, 0, 1, 4);
	bed_push_count(&b, 0, 2, 5);
	next_round(2);
	bed_init(&b);
	bed_pull_part(&b, 0, 2, &b.parts.part[0], rows, touched);
	assert_true(touched[0]);
	assert_false(touched[1]);
	assert_true(rows[0] == -4);
	bed_close(&b);
}

static void
a_round_that_does_not_say_keep_begins_anew(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	bed_push_count(&b, 0, 1, 3);
	next_round(1);
	b.keep = 0;
	bed_init(&b);
	assert_true(bed_read_count(&b, 0, 1) == 0);
	assert_true(offer_of(0).lowest > offer_of(0).applied);
	bed_close(&b);
}

static void
steps_and_tables_that_are_not_here_are_refused(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	bed_push_count(&b, 0, 1, 3);
	next_round(4);
	refused("has the rows of steps 0 to 1, not of 3");
	b.first_step = 2;
	b.table[0].seed++;
	refused("has the rows of other tables");
	b.table[0].seed--;
	bed_init(&b);
	assert_true(bed_read_count(&b, 0, 2) == -3);
	bed_stop_round(&b);
	bed_forget(&b, 0);
	bed_start_round(&b);
	refused("has no rows of step 1");
	bed_close(&b);
}

/* Half of a model may be new, half old. */
static void
rows_that_are_being_set_are_not_offered(void **state)
{
	const struct body_rows head = { .n = 1, .dim = 1 };
	struct frame f;
	struct buffer body;
	const float x = 5;
	const uint8_t touched = 1;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	bed_push_count(&b, 0, 1, 3);
	f = bed_frame(&b, FRAME_SNAP_PUT, 0, 2);
	buffer_init(&body, 1 << 10);
	bed_put(&body, &head, sizeof(head));
	bed_put(&body, &x, sizeof(x));
	bed_put(&body, &touched, 1);
	bed_ask(&b, 0, &f, &body, FRAME_SNAP_R, NULL, 0);
	buffer_free(&body);
	assert_true(offer_of(0).lowest > offer_of(0).applied);
	bed_push_count(&b, 0, 2, 1);
	assert_true(offer_of(0).applied == 2);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shard_offers_its_last_step_and_keeps_it),
		cmocka_unit_test(a_row_of_an_exact_table_goes_with_the_step_that_made_it),
		cmocka_unit_test(a_round_that_does_not_say_keep_begins_anew),
		cmocka_unit_test(steps_and_tables_that_are_not_here_are_refused),
		cmocka_unit_test(rows_that_are_being_set_are_not_offered),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
