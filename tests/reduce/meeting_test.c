/* Ranks that meet: what is seen after it, and what is said of those who do not come. */
#include "tests/test.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "reduce/meeting.h"

#define RANKS  4
#define ROUNDS 1500

/* Plain memory: ThreadSanitizer knows whether the meetings order its uses. */
struct hall {
	char *memory;
	uint64_t said[2][RANKS], total;
};

struct member { struct hall *hall; size_t rank; int wrong; };

static struct meeting_call
call_of(uint64_t n)
{
	return (struct meeting_call){ .kind = MEETING_GATHER, .n = n, .n_ranks = RANKS };
}

static void *
member_run(void *argument)
{
	struct member *self = argument;
	struct hall *hall = self->hall;
	const struct exchange base = { .rank = self->rank, .n_ranks = RANKS, .timeout = 20 };
	struct meeting m;

	self->wrong = meeting_open(&m, &base, hall->memory, 1) != RS_OK;
	for (uint64_t i = 0; i < ROUNDS && !self->wrong; i++) {
		const struct meeting_call call = call_of(i);
		uint64_t sum = 0;

		hall->said[i & 1][self->rank] = i + self->rank;
		if (meeting_come(&m, &call) != RS_OK) {
			self->wrong = 1;
			break;
		}
		for (size_t r = 0; r < RANKS; r++)
			sum += hall->said[i & 1][r];
		self->wrong |= sum != RANKS * i + RANKS * (RANKS - 1) / 2;
		if (i % RANKS == self->rank)
			hall->total = sum;
		self->wrong |= meeting_wait(&m) != RS_OK || hall->total != sum;
		meeting_next(&m);
	}
	meeting_leave(&m);
	return NULL;
}

static void
hall_open(struct hall *h)
{
	*h = (struct hall){ 0 };
	assert_int_equal(memory_alloc(1, meeting_bytes(RANKS), &h->memory), RS_OK);
}

static void
what_is_written_before_a_meeting_is_read_after_it(void **state)
{
	struct member m[RANKS];
	pthread_t thread[RANKS];
	struct hall h;

	(void)state;
	hall_open(&h);
	for (size_t r = 0; r < RANKS; r++) {
		m[r] = (struct member){ &h, r, 0 };
		assert_int_equal(thread_start(&thread[r], "rank", member_run, &m[r]), RS_OK);
	}
	for (size_t r = 0; r < RANKS; r++) {
		thread_join(thread[r]);
		assert_int_equal(m[r].wrong, 0);
	}
	free(h.memory);
}

static void
all_who_are_missing_are_named(void **state)
{
	const struct exchange base = { .rank = 1, .n_ranks = RANKS, .timeout = 0.03 };
	const struct meeting_call call = call_of(8);
	struct meeting m;
	struct hall h;

	(void)state;
	hall_open(&h);
	assert_int_equal(meeting_open(&m, &base, h.memory, 0), RS_OK);
	assert_int_equal(meeting_come(&m, &call), RS_EPEER);
	assert_string_equal(rs_failure()->text,
		"workers 0, 2, 3 did not come to a gather of 8 bytes for 0.03 s");
	meeting_leave(&m);
	assert_int_equal(meeting_check(&m), RS_EPEER);
	free(h.memory);
}

/* All desks say a number of the round before, as a killed process leaves them. */
static void
remains_of_a_former_round_are_nobody(void **state)
{
	const struct exchange base = { .rank = 0, .n_ranks = 1, .timeout = 0.02 };
	const struct exchange two = { .rank = 0, .n_ranks = 2, .timeout = 0.02 };
	const struct exchange other = { .rank = 1, .n_ranks = 2, .timeout = 0.02 };
	const struct meeting_call call = call_of(8);
	struct meeting m;
	struct hall h;

	(void)state;
	hall_open(&h);
	assert_int_equal(meeting_open(&m, &other, h.memory, 6), RS_OK);
	assert_int_equal(meeting_come(&m, &call), RS_EPEER);
	assert_int_equal(meeting_open(&m, &two, h.memory, 7), RS_OK);
	assert_int_equal(meeting_come(&m, &call), RS_EPEER);
	assert_string_equal(rs_failure()->text,
		"worker 1 did not come to a gather of 8 bytes for 0.02 s");
	assert_int_equal(meeting_open(&m, &base, h.memory, 7), RS_EPROTOCOL);
	assert_int_equal(meeting_open(&m, &two, h.memory, 6), RS_EPEER);
	assert_int_equal(meeting_open(&m, &other, h.memory, 6), RS_EPROTOCOL);
	free(h.memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_before_a_meeting_is_read_after_it),
		cmocka_unit_test(all_who_are_missing_are_named),
		cmocka_unit_test(remains_of_a_former_round_are_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
