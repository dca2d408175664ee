/* The ledger: what is printed is read, and what is wrong is said. */
#include "train/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"

static void
add(struct ledger *l, struct ledger_entry entry, const char *path)
{
	assert_int_equal(memory_strdup(path, &entry.path), RS_OK);
	assert_int_equal(ledger_add(l, &entry), RS_OK);
	assert_null(entry.path);
}

/* All members, and all odd values of them. */
static void
fill(struct ledger *l)
{
	struct ledger_entry entry = { .period = 1764424800, .use = LEDGER_TRAINED,
		.content_hash = UINT64_MAX, .rows = 1, .skipped = 2, .late = 3, .file = 4,
		.size = 5, .inode = 6, .modified_ns = -7,
		.text = 8, .head = UINT32_MAX, .head_bytes = 10 };

	ledger_init(l);
	l->mark = 1764428400;
	assert_int_equal(range_list_add(&entry.ranges, 0, 97), RS_OK);
	assert_int_equal(range_list_add(&entry.ranges, 5000, 9000), RS_OK);
	assert_int_equal(range_list_add(&entry.ranges, 9001, RANGE_END), RS_OK);
	add(l, entry, "log/a.tsv");
	for (int use = 0; use < LEDGER_N_USES; use++)
		add(l, (struct ledger_entry){ .period = LEDGER_NO_PERIOD, .use = use },
			"tab\t=end\nback\\\x7f \xc3\xa4 x");
}

static void
print(const struct ledger *l, struct buffer *out)
{
	buffer_init(out, 64 << 20);
	assert_int_equal(ledger_print(l, out), RS_OK);
}

static void
what_is_printed_is_read(void **state)
{
	struct ledger l, again;
	struct buffer text, twice;

	(void)state;
	fill(&l);
	print(&l, &text);
	assert_int_equal(ledger_parse(text.data, text.n, "ledger.txt", &again), RS_OK);
	assert_true(ledger_equal(&l, &again));
	assert_int_equal(again.last_file, 4);
	print(&again, &twice);
	assert_int_equal(text.n, twice.n);
	assert_memory_equal(text.data, twice.data, text.n);
	buffer_free(&text);
	buffer_free(&twice);
	ledger_free(&l);
	ledger_free(&again);
}

static void
empty_ledger_has_no_mark(void **state)
{
	static const char text[] = "recsys-train ledger 1\nmark=none\n";
	struct ledger l;
	struct buffer printed;

	(void)state;
	assert_int_equal(ledger_parse(text, sizeof text - 1, "l", &l), RS_OK);
	assert_int_equal(l.n, 0);
	assert_true(l.mark == LEDGER_NO_PERIOD);
	print(&l, &printed);
	assert_int_equal(printed.n, sizeof text - 1);
	assert_memory_equal(printed.data, text, printed.n);
	buffer_free(&printed);
	ledger_free(&l);
}

static void
unknown_keys_are_passed_over(void **state)
{
	static const char text[] = "recsys-train ledger 1\nmark=-5\n"
		"colour=red\tpath=a\tuse=held\tzeal=\n";
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_parse(text, sizeof text - 1, "l", &l), RS_OK);
	assert_int_equal(l.n, 1);
	assert_true(l.mark == -5);
	assert_string_equal(l.entry[0].path, "a");
	assert_int_equal(l.entry[0].use, LEDGER_HELD);
	ledger_free(&l);
}

static void
newer_form_is_another_protocol(void **state)
{
	static const char text[] = "recsys-train ledger 2\nmark=none\n";
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_parse(text, sizeof text - 1, "l", &l), RS_EPROTOCOL);
	assert_non_null(strstr(rs_failure()->text, "form 2"));
}

static void
wrong_text_is_refused_with_its_line(void **state)
{
	static const struct { const char *text; size_t line; } wrong[] = {
		{ "", 1 },
		{ "recsys-train ledger 1", 1 },
		{ "recsys-train ledger 1\n", 1 },
		{ "recsys-train ledger 0\nmark=none\n", 1 },
		{ "recsys-train model 1\nmark=none\n", 1 },
		{ "recsys-train ledger 1\npath=a\tuse=held\n", 2 },
		{ "recsys-train ledger 1\nmark=soon\n", 2 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held", 3 },
		{ "recsys-train ledger 1\nmark=1\nuse=held\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=lost\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\tsize=-1\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\thead=4294967296\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\tranges=5-5\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\tranges=5-9,2-3\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\tranges=5-9,\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\thash=xyz\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\\x0\tuse=held\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\\x00b\tuse=held\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\t\n", 3 },
		{ "recsys-train ledger 1\nmark=1\npath=a\tuse=held\n\n", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct ledger l;

		assert_int_equal(ledger_parse(wrong[i].text, strlen(wrong[i].text),
			"dir/ledger.txt", &l), RS_EDATA);
		assert_non_null(strstr(rs_failure()->where, "dir/ledger.txt"));
		assert_int_equal(rs_failure()->line, wrong[i].line);
		assert_null(l.entry);
	}
}

static void
copy_equals_and_each_change_is_seen(void **state)
{
	struct ledger l, copy;

	(void)state;
	fill(&l);
	assert_int_equal(ledger_copy(&l, &copy), RS_OK);
	assert_true(ledger_equal(&l, &copy));
	assert_int_equal(copy.last_file, 4);
	copy.mark++;
	assert_false(ledger_equal(&l, &copy));
	copy.mark--;
	copy.entry[0].ranges.item[1].end++;
	assert_false(ledger_equal(&l, &copy));
	copy.entry[0].ranges.item[1].end--;
	copy.entry[0].content_hash++;
	assert_false(ledger_equal(&l, &copy));
	copy.entry[0].content_hash--;
	copy.n--;
	assert_false(ledger_equal(&l, &copy));
	copy.n++;
	assert_true(ledger_equal(&l, &copy));
	ledger_free(&copy);
	ledger_free(&l);
}

static void
files_of_a_plain_run_have_entries(void **state)
{
	char path[] = "/tmp/ledger.XXXXXX", part[64];
	const int fd = mkstemp(path);
	struct loader_file file = { .path = path, .size = 12, .content_hash = 77,
		.tally = { .read = 3, .skipped = 1 } };
	struct ledger l;

	(void)state;
	assert_int_equal(write(fd, "1\ta\n0\tb\n1\tc\n", 12), 12);
	close(fd);
	ledger_init(&l);
	assert_int_equal(ledger_add_file(&l, &file), RS_OK);
	snprintf(part, sizeof part, "%s@4-8", path);
	file.path = part;
	assert_int_equal(ledger_add_file(&l, &file), RS_OK);
	file.path = "-";
	assert_int_equal(ledger_add_file(&l, &file), RS_OK);
	file.path = "/no/such/file";
	assert_int_equal(ledger_add_file(&l, &file), RS_OK);
	assert_int_equal(l.n, 3);
	assert_true(l.entry[0].period == LEDGER_NO_PERIOD);
	assert_int_equal(l.entry[0].size, 12);
	assert_int_equal(l.entry[0].text, 12);
	assert_int_equal(l.entry[0].rows, 3);
	assert_int_equal(l.entry[0].skipped, 1);
	assert_int_equal(l.entry[0].head_bytes, 12);
	assert_int_not_equal(l.entry[0].inode, 0);
	assert_int_not_equal(l.entry[0].modified_ns, 0);
	assert_string_equal(l.entry[1].path, path);
	assert_int_equal(l.entry[1].ranges.n, 1);
	assert_int_equal(l.entry[1].ranges.item[0].begin, 4);
	assert_int_equal(l.entry[2].inode, 0);
	assert_int_equal(l.last_file, 3);
	ledger_free(&l);
	unlink(path);
}

static void
version_without_one_has_an_empty_ledger(void **state)
{
	char directory[] = "/tmp/ledger.XXXXXX", path[64];
	struct ledger l;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/v000007", directory);
	assert_int_equal(file_make_directories(path), RS_OK);
	assert_int_equal(ledger_read(directory, 7, &l), RS_OK);
	assert_int_equal(l.n, 0);
	snprintf(path, sizeof path, "%s/v000007/ledger.txt", directory);
	assert_int_equal(file_replace(path, "recsys-train ledger 1\nmark=9\n", 29), RS_OK);
	assert_int_equal(ledger_read(directory, 7, &l), RS_OK);
	assert_true(l.mark == 9);
	ledger_free(&l);
	assert_int_equal(file_replace(path, "recsys-train ledger 1\n", 22), RS_OK);
	assert_int_equal(ledger_read(directory, 7, &l), RS_EDATA);
	assert_int_equal(file_remove_tree(directory), RS_OK);
}

/* Each byte is turned into others: no crash, and what is accepted prints and reads alike. */
static void
changed_bytes_do_no_harm(void **state)
{
	struct ledger l, again;
	struct buffer text, printed;
	size_t accepted = 0;

	(void)state;
	fill(&l);
	print(&l, &text);
	for (size_t i = 0; i < 4 * text.n; i++) {
		char *const at = &text.data[i % text.n], old = *at;

		*at = "\t\n=-\\,0\xff"[hash_mix(i) % 8];
		if (ledger_parse(text.data, text.n, "l", &again) == RS_OK) {
			struct ledger third;

			accepted++;
			print(&again, &printed);
			assert_int_equal(ledger_parse(printed.data, printed.n, "l", &third), RS_OK);
			assert_true(ledger_equal(&again, &third));
			ledger_free(&third);
			ledger_free(&again);
			buffer_free(&printed);
		}
		*at = old;
	}
	assert_true(accepted > 0);
	buffer_free(&text);
	ledger_free(&l);
}

static void
ten_thousand_entries_are_read_quickly(void **state)
{
	struct ledger l, again;
	struct buffer text;
	clock_t begin;
	double best = 1e9;

	(void)state;
	ledger_init(&l);
	for (uint64_t i = 1; i <= 10000; i++) {
		char path[64];

		snprintf(path, sizeof path, "log/2026/11/click-%05ju.tsv.gz", (uintmax_t)i);
		add(&l, (struct ledger_entry){ .period = 1764424800 + 3600 * (int64_t)i, .file = i,
			.content_hash = hash_mix(i), .rows = 100000 + i, .size = 12345678 + i,
			.inode = 1000000 + i, .modified_ns = 1764424800000000000 + (int64_t)i,
			.head = (uint32_t)hash_mix(i), .head_bytes = 65536 }, path);
	}
	print(&l, &text);
	for (int i = 0; i < 5; i++) {
		double took;

		begin = clock();
		assert_int_equal(ledger_parse(text.data, text.n, "l", &again), RS_OK);
		took = (double)(clock() - begin) / CLOCKS_PER_SEC;
		best = took < best ? took : best;
		assert_int_equal(again.n, 10000);
		ledger_free(&again);
	}
	print_message("10,000 entries, %zu bytes: %.1f ms\n", text.n, 1e3 * best);
	assert_true(best < 0.2);
	buffer_free(&text);
	ledger_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_is_read),
		cmocka_unit_test(empty_ledger_has_no_mark),
		cmocka_unit_test(unknown_keys_are_passed_over),
		cmocka_unit_test(newer_form_is_another_protocol),
		cmocka_unit_test(wrong_text_is_refused_with_its_line),
		cmocka_unit_test(copy_equals_and_each_change_is_seen),
		cmocka_unit_test(files_of_a_plain_run_have_entries),
		cmocka_unit_test(version_without_one_has_an_empty_ledger),
		cmocka_unit_test(changed_bytes_do_no_harm),
		cmocka_unit_test(ten_thousand_entries_are_read_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
