/* Lines "key = value" of a control message: what is found lies within the text. */
#include <math.h>
#include <string.h>

#include "comm/fields.h"
#include "tests/fuzz/fuzz.h"

static const char *const key[] = { "status", "text", "hint", "n", "waits_for" };

/* Every value of a key, both ways of finding it. */
static size_t
walk(const struct fields *f, const char *wanted)
{
	const char *value, *same;
	size_t at = 0, n, n_same, found = 0;

	while (fields_next(f, wanted, &at, &value, &n)) {
		FUZZ_CHECK(value >= f->text && value + n <= f->text + f->n);
		FUZZ_CHECK(memchr(value, '\n', n) == NULL);
		if (found < 4) {
			FUZZ_CHECK(fields_find(f, wanted, found, &same, &n_same));
			FUZZ_CHECK(same == value && n_same == n);
		}
		found++;
	}
	if (found < 4)
		FUZZ_CHECK(!fields_find(f, wanted, found, &same, &n_same));
	return found;
}

/* A text that was let in can be sent on and is the same there. */
static void
send_on(const char *wanted, const char *text)
{
	char again[64];
	struct buffer b;

	buffer_init(&b, 1 << 16);
	FUZZ_CHECK(fields_put(&b, wanted, "%s", text) == RS_OK);
	const struct fields f = { b.data, b.n };

	FUZZ_CHECK(fields_text(&f, wanted, again, sizeof(again)) == RS_OK);
	FUZZ_CHECK(strcmp(again, text) == 0);
	buffer_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct fields f = { (const char *)data, n };

	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		const size_t found = walk(&f, key[i]);
		char text[64];
		uint64_t whole;
		double number;
		enum rs_status status = fields_text(&f, key[i], text, sizeof(text));

		FUZZ_CHECK(status == RS_EPROTOCOL || (status == RS_OK && found > 0));
		if (status == RS_OK && memchr(text, '\0', sizeof(text)) != NULL)
			send_on(key[i], text);
		status = fields_u64(&f, key[i], &whole);
		FUZZ_CHECK(status == RS_EPROTOCOL || (status == RS_OK && found > 0));
		status = fields_double(&f, key[i], &number);
		FUZZ_CHECK(status == RS_EPROTOCOL || (status == RS_OK && isfinite(number)));
	}
	const enum rs_status status = fields_failure(&f, "ps 0");

	FUZZ_CHECK(status != RS_OK && status < RS_N_STATUS && rs_failure()->status == status);
	return 0;
}
