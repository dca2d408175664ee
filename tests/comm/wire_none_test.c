/* A build without ZeroMQ says so, and that is all it does. */
#include "tests/test.h"

#include <string.h>

#include "base/status.h"
#include "comm/wire.h"

static void
sockets_are_refused_in_a_build_without_zeromq(void **state)
{
	const struct wire_options options = { .n_io_threads = 1 };
	struct wire_context *c;
	struct wire_message m = { .owned = NULL };
	struct wire *w;
	struct wire_poll p = { .wire = NULL };
	int got = 1;

	(void)state;
	assert_int_equal(wire_context_open(&options, &c), RS_EUSAGE);
	assert_non_null(strstr(rs_failure()->text, "without ZeroMQ"));
	assert_null(c);
	assert_int_equal(wire_bind(c, "tcp://127.0.0.1:0", &w), RS_EUSAGE);
	assert_int_equal(wire_connect(c, "tcp://127.0.0.1:1", NULL, &w), RS_EUSAGE);
	assert_int_equal(wire_receive(w, &m, &got), RS_EUSAGE);
	assert_int_equal(got, 0);
	assert_int_equal(wire_wait(&p, 1, 1), RS_EUSAGE);
	wire_message_free(&m);
	wire_close(w);
	wire_context_close(c);
}

static void
tests_of_sockets_need_zeromq(void **state)
{
	(void)state;
	SKIP_BECAUSE("this program is built without ZeroMQ: no sockets to test");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_refused_in_a_build_without_zeromq),
		cmocka_unit_test(tests_of_sockets_need_zeromq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
