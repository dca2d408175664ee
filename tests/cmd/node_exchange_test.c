/* The networks that NCCL is told of. */
#include "tests/test.h"

#include "cmd/node_exchange.h"
#include "spec/spec.h"

/* NULL: not set. */
static void
expect(const char *more, const char *interface, const char *net)
{
	struct spec *spec;
	char text[400];

	snprintf(text, sizeof text, "[model]\ntype = fm\n[data]\ntrain = x.csv\nformat = csv\n"
		"label = y\n[field u]\ncolumn = u\nbuckets = 9\n%s", more);
	assert_int_equal(spec_load_text(text, "networks", &spec), RS_OK);
	node_exchange_name(spec_settings(spec));
	spec_free(spec);
	for (size_t i = 0; i < 2; i++) {
		const char *const got = getenv(i == 0 ? "NCCL_SOCKET_IFNAME" : "NCCL_NET");
		const char *const wanted = i == 0 ? interface : net;

		if (wanted == NULL)
			assert_null(got);
		else
			assert_string_equal(got, wanted);
	}
}

static void
forget(void)
{
	unsetenv("NCCL_SOCKET_IFNAME");
	unsetenv("NCCL_NET");
}

static void
networks_are_named_where_nccl_may_sum(void **state)
{
	(void)state;
	forget();
	expect("[placement]\ndense = shm\n", NULL, NULL);
	expect("", "=lo", "Socket");
	forget();
	expect("[placement]\ndense = nccl\n[cluster]\ntrusted_interface = wg0\n", "=wg0", "Socket");
	forget();
	expect("[cluster]\ntrusted_interface = ib0\n", "=ib0", NULL);
}

static void
what_the_user_set_stays(void **state)
{
	(void)state;
	forget();
	setenv("NCCL_SOCKET_IFNAME", "eth7", 1);
	setenv("NCCL_NET", "Plugin", 1);
	expect("", "eth7", "Plugin");
	forget();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks_are_named_where_nccl_may_sum),
		cmocka_unit_test(what_the_user_set_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
