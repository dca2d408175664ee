/* The MPI plane over messages between threads: bits, order, deadlines, rounds, and texts. */
#include "tests/test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/thread.h"
#include "kernel/kernel.h"
#include "reduce/mpi.h"
#include "tests/reduce/plane_bed.h"

#define RANKS_MAX 6
#define LETTERS   4096

/* A message is on its way until somebody took it, as a large one of MPI is. */
struct letter {
	int from, to, tag, sent, taken;
	const void *bytes;
	size_t n;
	uint64_t number;
};

static struct post {
	pthread_mutex_t lock;
	struct letter letter[LETTERS];
	uint64_t n_sent, n_draws;
	int size;
	atomic_int never_starts;
	int lost_from, lost_after;     /* letters of that process, the rest vanish    */
	int n_lost;
} post = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
fake_init(void *self, int *rank, int *size)
{
	*rank = *(int *)self;
	*size = post.size;
	while (post.never_starts)
		clock_seconds();
	return 0;
}

static int
fake_finalize(void *self)
{
	(void)self;
	return 0;
}

static struct letter *
letter_of(const struct mpi_message *m)
{
	struct letter *l;

	memcpy(&l, m->handle, sizeof(l));
	return l;
}

static struct letter *
letter_new(int from, int to, int tag, struct mpi_message *out)
{
	struct letter *l = post.letter;

	while (l->sent)
		l++;
	*l = (struct letter){ .from = from, .to = to, .tag = tag, .sent = 1,
		.number = post.n_sent++ };
	out->active = 1;
	memcpy(out->handle, &l, sizeof(l));
	return l;
}

static int
fake_send(void *self, const void *bytes, size_t n, int to, int tag, struct mpi_message *out)
{
	const int from = *(int *)self;

	pthread_mutex_lock(&post.lock);
	struct letter *l = letter_new(from, to, tag, out);
	l->bytes = bytes;
	l->n = n;
	out->sending = 1;
	if (from == post.lost_from && post.n_lost++ >= post.lost_after)
		l->from = -1;
	pthread_mutex_unlock(&post.lock);
	return 0;
}

static int
fake_receive(void *self, void *bytes, size_t n, int from, int tag, struct mpi_message *out)
{
	(void)self;
	*out = (struct mpi_message){ .active = 1 };
	memcpy(out->handle, &(struct { void *bytes; int from, tag; }){ bytes, from, tag }, 16);
	(void)n;
	return 0;
}

static int
take_letter(int rank, struct mpi_message *m, size_t *n)
{
	struct { uint8_t *bytes; int from, tag; } wanted;
	struct letter *first = NULL;

	memcpy(&wanted, m->handle, sizeof(wanted));
	for (size_t i = 0; i < LETTERS; i++) {
		struct letter *l = &post.letter[i];

		if (l->sent && !l->taken && l->from == wanted.from && l->to == rank
		    && l->tag == wanted.tag && (first == NULL || l->number < first->number))
			first = l;
	}
	if (first == NULL)
		return 0;
	memcpy(wanted.bytes, first->bytes, first->n < *n ? first->n : *n);
	*n = first->n;
	first->taken = 1;
	return 1;
}

static int
fake_test(void *self, struct mpi_message *m, int *done, size_t *n)
{
	pthread_mutex_lock(&post.lock);
	*done = 0;
	if (rng_below(5, post.n_draws++, 3) > 0) {
		if (m->sending) {
			struct letter *l = letter_of(m);

			*done = l->taken;
			if (l->taken)
				l->sent = l->taken = 0;
		} else {
			*done = take_letter(*(int *)self, m, n);
		}
	}
	pthread_mutex_unlock(&post.lock);
	m->active = !*done;
	return 0;
}

static void
fake_cancel(void *self, struct mpi_message *m)
{
	(void)self;
	pthread_mutex_lock(&post.lock);
	if (m->sending)
		letter_of(m)->sent = 0;
	pthread_mutex_unlock(&post.lock);
	m->active = 0;
}

static void
fake_abort(void *self, int code)
{
	(void)self;
	_exit(code);
}

static void
fake_error_text(void *self, int error, char *out, size_t capacity)
{
	(void)self;
	snprintf(out, capacity, "error %d", error);
}

static const struct mpi_plugin fake = {
	.version = MPI_PLUGIN_VERSION, .library = "threads", .init = fake_init,
	.finalize = fake_finalize, .send = fake_send, .receive = fake_receive,
	.test = fake_test, .cancel = fake_cancel, .abort = fake_abort,
	.error_text = fake_error_text,
};

/* One rank of a run: some steps of sums, a gather and a broadcast. */
struct rank {
	int process;
	size_t rank;
	struct plane_size size;
	const int *world;
	double timeout;
	const atomic_int *stop;
	size_t n_buckets;              /* 0: one                                      */
	int wild, more;                /* the last rank has a wild value, more floats */
	enum rs_status status;
	char text[256];
	int wrong;
};

#define N_STEPS 3

static enum rs_status
do_sums(struct rank *k, struct exchange *e)
{
	const struct plane_size *z = &k->size;
	float *x = malloc((z->n_floats + 1) * sizeof(*x));
	double head[8];
	enum rs_status status = RS_OK;

	for (uint64_t step = 1; status == RS_OK && step <= N_STEPS; step++) {
		struct exchange_part part[2 * TREE_MAX_DEPTH];
		const size_t n = plane_parts(z, step, k->rank, part);

		if (k->wild && k->rank + 1 == z->n_ranks)
			*(float *)(uintptr_t)&part[n - 1].x[0] = 0x1p101f;
		status = plane_sum(e, z, step, k->n_buckets > 0 ? k->n_buckets : 1, part, n,
			head, x);
		if (status == RS_OK)
			k->wrong |= k->wild ? !isnan(x[0]) : plane_differs(z, step, head, x);
		plane_parts_free(part, n);
	}
	free(x);
	return status;
}

static enum rs_status
do_bytes(struct rank *k, struct exchange *e)
{
	const size_t R = k->size.n_ranks;
	size_t begin[RANKS_MAX + 1] = { 0 };

	/* Of ranks with nothing, with little, with several pieces. */
	for (size_t r = 0; r < R; r++)
		begin[r + 1] = begin[r] + (r % 3 == 2 ? 0 : r % 3 ? 7 : 2 * MPI_PIECE + 5);
	uint8_t *block = calloc(begin[R] + 1, 1);
	for (size_t i = begin[k->rank]; i < begin[k->rank + 1]; i++)
		block[i] = (uint8_t)(i * 31 % 251);
	enum rs_status status = e->ops->gather(e, block, begin);
	for (size_t i = 0; status == RS_OK && i < begin[R]; i++)
		k->wrong |= block[i] != (uint8_t)(i * 31 % 251);
	for (size_t i = 0; i < begin[R]; i++)
		block[i] = k->rank == 0 ? (uint8_t)(i * 17) : 0;
	if (status == RS_OK)
		status = e->ops->broadcast(e, block, begin[R]);
	for (size_t i = 0; status == RS_OK && i < begin[R]; i++)
		k->wrong |= block[i] != (uint8_t)(i * 17);
	free(block);
	return status;
}

static void *
rank_run(void *argument)
{
	struct rank *k = argument;
	const struct exchange base = { .rank = k->rank, .n_ranks = k->size.n_ranks,
		.kernel = &kernel_ref, .timeout = k->timeout, .stop = k->stop };
	struct exchange *e = NULL;
	struct mpi *m = NULL;

	k->size.n_floats += k->more && k->rank + 1 == k->size.n_ranks;
	k->status = mpi_wrap(&fake, &k->process, 10, &m);
	if (k->status == RS_OK)
		k->status = mpi_exchange_open(&base, m, k->world, 7, &e);
	if (k->status == RS_OK)
		k->status = do_sums(k, e);
	if (k->status == RS_OK && !k->wild)
		k->status = do_bytes(k, e);
	snprintf(k->text, sizeof(k->text), "%.255s", rs_failure()->text);
	if (e != NULL)
		e->ops->close(e);
	mpi_close(m);
	return NULL;
}

/* The processes of the job have the ranks in another order. */
static void
run(struct rank *k, struct plane_size z, const struct rank *like)
{
	static int world[RANKS_MAX];
	pthread_t thread[RANKS_MAX];

	memset(post.letter, 0, sizeof(post.letter));
	post.n_lost = 0;
	post.size = (int)z.n_ranks;
	for (size_t r = 0; r < z.n_ranks; r++) {
		k[r] = *like;
		k[r].rank = r;
		k[r].process = world[r] = (int)((r + 1) % z.n_ranks);
		k[r].world = world;
		k[r].size = z;
	}
	for (size_t r = 0; r < z.n_ranks; r++)
		assert_int_equal(RS_OK, thread_start(&thread[r], "rank", rank_run, &k[r]));
	for (size_t r = 0; r < z.n_ranks; r++)
		thread_join(thread[r]);
}

static void
any_ranks_and_slots_give_the_bits_of_the_tree(void **state)
{
	struct rank k[RANKS_MAX];

	(void)state;
	post.lost_from = -2;
	for (size_t slots = 1; slots <= 9; slots++)
		for (size_t ranks = 1; ranks <= slots && ranks <= RANKS_MAX; ranks++) {
			run(k, (struct plane_size){ slots, ranks, 3, 100 },
				&(struct rank){ .timeout = 20 });
			for (size_t r = 0; r < ranks; r++) {
				assert_int_equal(RS_OK, k[r].status);
				assert_false(k[r].wrong);
			}
		}
}

static void
sums_of_many_pieces_and_of_none_are_sums(void **state)
{
	const struct plane_size size[] = {
		{ 8, 3, 5, 10 * MPI_PIECE / sizeof(float) + 3 }, { 5, 4, 0, 70000 },
		{ 5, 5, 2, 0 }, { 4, 2, 0, 0 },
	};
	struct rank k[RANKS_MAX];

	(void)state;
	post.lost_from = -2;
	for (size_t i = 0; i < N_ROWS(size); i++) {
		run(k, size[i], &(struct rank){ .timeout = 20 });
		for (size_t r = 0; r < size[i].n_ranks; r++) {
			assert_int_equal(RS_OK, k[r].status);
			assert_false(k[r].wrong);
		}
	}
}

static void
buckets_of_odd_sizes_are_summed_one_by_one(void **state)
{
	struct rank k[RANKS_MAX];

	(void)state;
	post.lost_from = -2;
	for (size_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
		run(k, (struct plane_size){ 7, ranks, 3, 150001 },
			&(struct rank){ .timeout = 20, .n_buckets = 4 });
		for (size_t r = 0; r < ranks; r++) {
			assert_int_equal(RS_OK, k[r].status);
			assert_false(k[r].wrong);
		}
	}
}

static void
a_wild_value_on_the_way_is_a_nan_for_all(void **state)
{
	struct rank k[RANKS_MAX];

	(void)state;
	post.lost_from = -2;
	run(k, (struct plane_size){ 4, 4, 1, 50 }, &(struct rank){ .timeout = 20, .wild = 1 });
	for (size_t r = 0; r < 4; r++) {
		assert_int_equal(RS_OK, k[r].status);
		assert_false(k[r].wrong);
	}
}

static void
a_rank_that_falls_silent_fails_all_within_the_deadline(void **state)
{
	struct rank k[RANKS_MAX];
	const double begin = clock_seconds();
	int named = 0;

	(void)state;
	post.lost_from = 2;            /* the process of rank 1                       */
	post.lost_after = 3;
	run(k, (struct plane_size){ 4, 3, 2, 200000 }, &(struct rank){ .timeout = .3 });
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(RS_EPEER, k[r].status);
		assert_non_null(strstr(k[r].text, "no word in 0.3 s"));
		named += strstr(k[r].text, "worker 1") != NULL;
	}
	assert_true(named >= 1);
	assert_true(clock_seconds() - begin < 3);
}

static void
ranks_of_different_sizes_are_told(void **state)
{
	struct rank k[RANKS_MAX];
	int told = 0;

	(void)state;
	post.lost_from = -2;
	run(k, (struct plane_size){ 4, 3, 2, 500 }, &(struct rank){ .timeout = .3, .more = 1 });
	for (size_t r = 0; r < 3; r++) {
		told += k[r].status == RS_EPROTOCOL && strstr(k[r].text, "bytes where") != NULL;
		assert_int_not_equal(RS_OK, k[r].status);
	}
	assert_true(told > 0);
}

static void
the_end_of_the_round_ends_the_wait(void **state)
{
	struct rank k[RANKS_MAX];
	const double begin = clock_seconds();
	atomic_int stop = 0;
	pthread_t thread;

	(void)state;
	post.lost_from = 1;
	post.lost_after = 0;
	assert_int_equal(RS_OK, thread_start(&thread, "stop", plane_stop_soon, &stop));
	run(k, (struct plane_size){ 4, 3, 2, 200000 },
		&(struct rank){ .timeout = 60, .stop = &stop });
	thread_join(thread);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(RS_EPEER, k[r].status);
		assert_non_null(strstr(k[r].text, "the round is over"));
	}
	assert_true(clock_seconds() - begin < 5);
}

struct meeting { int process; char text[64]; enum rs_status status; char all[256]; };

static void *
meet(void *argument)
{
	struct meeting *k = argument;
	struct buffer all;
	size_t begin[4];
	struct mpi *m;

	buffer_init(&all, 1 << 20);
	k->status = mpi_wrap(&fake, &k->process, 10, &m);
	if (k->status != RS_OK)
		return NULL;
	k->status = mpi_rendezvous(m, k->text[0] != '\0' ? k->text : NULL, strlen(k->text), &all,
		begin);
	if (k->status == RS_OK)
		snprintf(k->all, sizeof(k->all), "%.*s|%.*s|%.*s", (int)begin[1], all.data,
			(int)(begin[2] - begin[1]), all.data + begin[1],
			(int)(begin[3] - begin[2]), all.data + begin[2]);
	buffer_free(&all);
	mpi_close(m);
	return NULL;
}

static void
everyone_hears_what_everyone_has_to_say(void **state)
{
	struct meeting k[3] = { { 0, "tcp://a:1", 0, "" }, { 1, "", 0, "" }, { 2, "c", 0, "" } };
	pthread_t thread[3];

	(void)state;
	memset(post.letter, 0, sizeof(post.letter));
	post.lost_from = -2;
	post.size = 3;
	for (size_t r = 0; r < 3; r++)
		assert_int_equal(RS_OK, thread_start(&thread[r], "rank", meet, &k[r]));
	for (size_t r = 0; r < 3; r++) {
		thread_join(thread[r]);
		assert_int_equal(RS_OK, k[r].status);
		assert_string_equal("tcp://a:1||c", k[r].all);
	}
}

static void
a_job_that_does_not_start_is_given_up(void **state)
{
	int process = 0;
	struct mpi *m;

	(void)state;
	post.never_starts = 1;
	assert_int_equal(RS_EPEER, mpi_wrap(&fake, &process, .1, &m));
	assert_non_null(strstr(rs_failure()->text, "did not start within 0.1 s"));
	post.never_starts = 0;
}

static void
a_plug_in_that_is_not_there_is_named(void **state)
{
	struct mpi *m;

	(void)state;
	assert_int_equal(RS_EUSAGE, mpi_open(&(struct mpi_options){
		.plugin = "/nonexistent/plugin.so", .timeout = 1 }, &m));
	assert_non_null(strstr(rs_failure()->text, "/nonexistent/plugin.so"));
	assert_int_equal(RS_EUSAGE, mpi_open(&(struct mpi_options){
		.library = "lam", .timeout = 1 }, &m));
	assert_non_null(strstr(rs_failure()->text, "lam"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_ranks_and_slots_give_the_bits_of_the_tree),
		cmocka_unit_test(sums_of_many_pieces_and_of_none_are_sums),
		cmocka_unit_test(buckets_of_odd_sizes_are_summed_one_by_one),
		cmocka_unit_test(a_wild_value_on_the_way_is_a_nan_for_all),
		cmocka_unit_test(a_rank_that_falls_silent_fails_all_within_the_deadline),
		cmocka_unit_test(ranks_of_different_sizes_are_told),
		cmocka_unit_test(the_end_of_the_round_ends_the_wait),
		cmocka_unit_test(everyone_hears_what_everyone_has_to_say),
		cmocka_unit_test(a_job_that_does_not_start_is_given_up),
		cmocka_unit_test(a_plug_in_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
