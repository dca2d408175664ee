/* ledger.txt: what is accepted is whole, and the same when it is printed and read again. */
#include "tests/fuzz/fuzz.h"
#include "train/ledger.h"

static void
check_again(const struct ledger *l)
{
	struct ledger again;
	struct buffer b;

	buffer_init(&b, 64 << 20);
	for (size_t i = 0; i < l->n; i++) {
		FUZZ_CHECK(l->entry[i].path != NULL && l->entry[i].path[0] != '\0');
		FUZZ_CHECK(l->entry[i].use < LEDGER_N_USES);
		FUZZ_CHECK(l->entry[i].file <= l->last_file);
	}
	FUZZ_CHECK(ledger_print(l, &b) == RS_OK);
	FUZZ_CHECK(ledger_parse(b.data, b.n, "again", &again) == RS_OK);
	FUZZ_CHECK(ledger_equal(l, &again));
	ledger_free(&again);
	buffer_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ledger l;
	const enum rs_status status = ledger_parse((const char *)data, n, "ledger.txt", &l);

	FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_EPROTOCOL);
	if (status != RS_OK) {
		FUZZ_CHECK(l.entry == NULL && l.n == 0 && rs_failure()->line > 0);
		return 0;
	}
	check_again(&l);
	ledger_free(&l);
	return 0;
}
