/* What nodes and coordinator tell each other: as it was meant, and as anybody may send it. */
#include "tests/test.h"

#include <string.h>

#include "base/rng.h"
#include "comm/control.h"

#define KEY "0123456789012345678901234567890123456789"

enum { BODY_MAX = 8192, N_MUTANTS = 20000 };

static struct job
job_of(size_t self)
{
	struct job j = { .id = 9, .n_workers = 1, .n_ps = 1, .config = 42, .self = self };

	assert_int_equal(job_make_nodes(&j, 0), RS_OK);
	return j;
}

static void
put_view(struct buffer *b)
{
	assert_int_equal(fields_put(b, "epoch", "%d", 3), RS_OK);
	assert_int_equal(control_put_node(b, 0, "", "ipc:///tmp/a b/c"), RS_OK);
	assert_int_equal(control_put_node(b, 1, KEY, "tcp://10.0.0.1:7700"), RS_OK);
	assert_int_equal(control_put_node(b, 2, KEY, ""), RS_OK);
}

static void
a_hello_says_who_it_is(void **state)
{
	const struct control_life life = { .incarnation = 5, .progress = 6, .last_epoch = 7 };
	struct control_life life_read;
	struct control_self self, read;
	struct job j = job_of(1);
	struct buffer b;

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	control_describe_self(&j, "ipc:///x", &self);
	assert_true(self.nonce != 0 && self.pid != 0);
	assert_int_equal(strlen(self.boot), 36);
	assert_int_equal(control_put_hello(&b, &self, &life, "two\nlines"), RS_OK);
	const struct fields f = { b.data, b.n };
	assert_int_equal(control_read_self(&f, &read), RS_OK);
	assert_int_equal(control_read_life(&f, &life_read), RS_OK);
	assert_true(read.nonce == self.nonce && read.config == 42 && read.index == 0);
	assert_string_equal(read.role, "ps");
	assert_string_equal(read.endpoint, "ipc:///x");
	assert_true(life_read.incarnation == 5 && life_read.progress == 6);
	assert_int_equal(life_read.last_epoch, 7);
	buffer_free(&b);
	job_free(&j);
}

static void
a_view_says_where_all_are(void **state)
{
	struct member_view v;
	struct buffer b;

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	put_view(&b);
	const struct fields f = { b.data, b.n };
	assert_int_equal(control_read_view(&f, 3, &v), RS_OK);
	assert_int_equal(v.epoch, 3);
	assert_string_equal(v.endpoint[0], "ipc:///tmp/a b/c");
	assert_string_equal(v.public_key[0], "");
	assert_string_equal(v.public_key[1], KEY);
	assert_string_equal(v.endpoint[2], "");
	member_view_free(&v);
	assert_int_equal(control_read_view(&f, 4, &v), RS_EPROTOCOL);
	assert_int_equal(control_read_view(&f, 2, &v), RS_EPROTOCOL);
	buffer_free(&b);
}

static void
a_report_is_as_many_fields_as_it_has_lines(void **state)
{
	const struct control_life life = { .report = "a = 1\n\nb = 2\nlast" };
	const char *value;
	struct buffer b;
	size_t n;

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	assert_int_equal(control_put_renew(&b, &life), RS_OK);
	const struct fields f = { b.data, b.n };
	assert_true(fields_find(&f, "report", 2, &value, &n));
	assert_memory_equal(value, "last", 4);
	assert_false(fields_find(&f, "report", 3, &value, &n));
	buffer_free(&b);
}

static void
read_all(const struct fields *f)
{
	struct control_self self;
	struct control_life life;
	struct rs_failure failure;
	struct member_view view;
	enum rs_status status = control_read_self(f, &self);

	assert_true(status == RS_OK || status == RS_EPROTOCOL);
	status = control_read_life(f, &life);
	assert_true(status == RS_OK || status == RS_EPROTOCOL);
	status = control_read_bye(f, &failure);
	assert_true(status == RS_OK || status == RS_EPROTOCOL);
	status = control_read_view(f, 3, &view);
	assert_true(status == RS_OK || status == RS_EPROTOCOL);
	if (status == RS_OK)
		member_view_free(&view);
}

/* Bytes changed, lines cut, doubled and moved, in a block of just that size. */
static void
whatever_comes_is_read_or_refused(void **state)
{
	const struct control_life life = { .report = "a = 1" };
	const struct rs_failure failure = { .status = RS_EDATA, .text = "t", .hint = "h",
		.where = "w:1:2", .file_bytes = 1, .line = 1, .column = 2 };
	struct control_self self;
	struct job j = job_of(2);
	struct buffer b;
	uint64_t count = 0;

	(void)state;
	buffer_init(&b, BODY_MAX);
	control_describe_self(&j, NULL, &self);
	assert_int_equal(control_put_bye(&b, &self, &life, &failure), RS_OK);
	put_view(&b);
	for (size_t i = 0; i < N_MUTANTS; i++) {
		const size_t n = 1 + rng_below(1, count++, b.n);
		char *text = malloc(n);

		assert_non_null(text);
		memcpy(text, b.data + (i % 2 == 0 ? 0 : b.n - n), n);
		for (uint64_t k = rng_below(1, count++, 8); k-- > 0; count += 2)
			text[rng_below(1, count, n)] = (char)rng_u64(2, count);
		if (i % 3 == 0) {
			const size_t from = rng_below(1, count++, n), to = rng_below(1, count++, n);
			const size_t most = n - (from > to ? from : to);

			memmove(text + to, text + from, rng_below(1, count++, most) + 1);
		}
		read_all(&(struct fields){ text, n });
		free(text);
	}
	read_all(&(struct fields){ "", 0 });
	buffer_free(&b);
	job_free(&j);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(a_hello_says_who_it_is),
		cmocka_unit_test(a_view_says_where_all_are),
		cmocka_unit_test(a_report_is_as_many_fields_as_it_has_lines),
		cmocka_unit_test(whatever_comes_is_read_or_refused),
	};

	return cmocka_run_group_tests_name("comm/control", test, NULL, NULL);
}
