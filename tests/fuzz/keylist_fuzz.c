/* The list of who may join: what is let in is whole, and is the same when written again. */
#include <string.h>

#include "base/memory.h"
#include "comm/keys.h"
#include "tests/fuzz/fuzz.h"

static void
print_entry(struct buffer *b, const struct key_entry *e)
{
	const char *between = " ";

	FUZZ_CHECK(buffer_printf(b, "%s", e->name) == RS_OK);
	for (uint32_t i = 0; i < KEY_N_ROLES; i++)
		if (e->roles >> i & 1) {
			FUZZ_CHECK(buffer_printf(b, "%s%s", between,
				key_role_name((enum key_role)(1u << i))) == RS_OK);
			between = ",";
		}
	FUZZ_CHECK(buffer_printf(b, " %s\n", e->public_key) == RS_OK);
}

static void
check_again(const struct key_list *l)
{
	struct key_list again;
	struct buffer b;

	buffer_init(&b, 1 << 20);
	for (size_t i = 0; i < l->n; i++) {
		const struct key_entry *e = &l->entry[i];

		FUZZ_CHECK(key_is_text(e->public_key, strlen(e->public_key)));
		FUZZ_CHECK(e->roles != 0 && (e->roles & ~(uint32_t)KEY_ALL_ROLES) == 0);
		FUZZ_CHECK(key_list_find(l, e->public_key) == e);
		/* A name may begin like a comment only in a program. */
		FUZZ_CHECK(e->name[0] != '\0' && e->name[0] != '#');
		print_entry(&b, e);
	}
	FUZZ_CHECK(key_list_parse("again", b.data, b.n, &again) == RS_OK);
	FUZZ_CHECK(again.n == l->n);
	for (size_t i = 0; i < l->n; i++)
		FUZZ_CHECK(memcmp(&again.entry[i], &l->entry[i], sizeof(l->entry[i])) == 0);
	key_list_free(&again);
	buffer_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct key_list l;
	const enum rs_status status = key_list_parse("list", (const char *)data, n, &l);

	FUZZ_CHECK(status == RS_OK || status == RS_EDENIED);
	if (status != RS_OK) {
		FUZZ_CHECK(l.entry == NULL && l.n == 0 && rs_failure()->line > 0);
		return 0;
	}
	if (l.n > 0)
		check_again(&l);
	key_list_free(&l);
	return 0;
}
