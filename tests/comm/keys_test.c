/* Keys: pairs, files that others must not read, the list and where it is wrong. */
#include "tests/test.h"

#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "comm/keys.h"

/* The pair of RFC 26's example, by which ZeroMQ's own tests check CURVE. */
#define PUBLIC "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define SECRET "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
#define OTHER  "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static char *
path_in(void **state, const char *name)
{
	char *path;

	assert_int_equal(file_join(*state, name, &path), RS_OK);
	return path;
}

/* A file of this mode. */
static char *
make_file(void **state, const char *name, mode_t mode, const char *text)
{
	char *path = path_in(state, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void
skip_without_keys(void)
{
	struct key_pair k;

	if (key_pair_make(&k) == RS_EUSAGE)
		SKIP_BECAUSE("%s", rs_failure()->text);
}

static void
made_keys_differ_and_are_keys(void **state)
{
	struct key_pair a, b;

	(void)state;
	skip_without_keys();
	assert_int_equal(key_pair_make(&a), RS_OK);
	assert_int_equal(key_pair_make(&b), RS_OK);
	assert_true(key_is_text(a.public_key, strlen(a.public_key)));
	assert_true(key_is_text(a.secret_key, strlen(a.secret_key)));
	assert_string_not_equal(a.public_key, b.public_key);
	assert_string_not_equal(a.secret_key, b.secret_key);
	key_pair_wipe(&a);
	for (size_t i = 0; i < sizeof(a); i++)
		assert_int_equal(((const char *)&a)[i], 0);
}

static void
only_z85_of_32_bytes_is_a_key(void **state)
{
	(void)state;
	assert_true(key_is_text(PUBLIC, 40));
	assert_false(key_is_text(PUBLIC, 39));
	assert_false(key_is_text(PUBLIC "0", 41));
	assert_false(key_is_text("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hI~", 40));
	assert_false(key_is_text("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{h\0D", 40));
	/* "%nSc0" is 2^32 - 1, so "%nSc1" is too much. */
	assert_true(key_is_text("%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0", 40));
	assert_false(key_is_text("%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc1", 40));
	assert_false(key_is_text("#####00000000000000000000000000000000000", 40));
}

static void
a_written_pair_comes_back(void **state)
{
	char *path = path_in(state, "node.key"), *public_path = path_in(state, "node.key.pub");
	struct key_pair written, read;
	struct stat s;
	char *text;
	size_t n;

	skip_without_keys();
	assert_int_equal(key_pair_write(path, &written), RS_OK);
	assert_int_equal(stat(path, &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
	assert_int_equal(key_pair_read(path, &read), RS_OK);
	assert_memory_equal(&read, &written, sizeof(read));
	assert_int_equal(file_read(public_path, 4096, &text, &n), RS_OK);
	assert_non_null(strstr(text, written.public_key));
	assert_null(strstr(text, written.secret_key));
	assert_null(strstr(text, "secret"));
	free(text);
	free(path);
	free(public_path);
}

static void
a_key_file_is_never_overwritten(void **state)
{
	char *path = make_file(state, "there.key", 0600, "mine\n");
	char *other = path_in(state, "other.key");
	char *other_public = make_file(state, "other.key.pub", 0644, "mine\n");
	struct key_pair k;
	struct stat s;
	char *text;
	size_t n;

	skip_without_keys();
	assert_int_equal(key_pair_write(path, &k), RS_ECREATE);
	assert_int_equal(k.secret_key[0], '\0');
	assert_int_equal(file_read(path, 100, &text, &n), RS_OK);
	assert_string_equal(text, "mine\n");
	free(text);
	/* Neither half is left when the other cannot be written. */
	assert_int_equal(key_pair_write(other, &k), RS_ECREATE);
	assert_int_not_equal(stat(other, &s), 0);
	assert_int_equal(key_pair_write("/nowhere/at/all.key", &k), RS_ECREATE);
	free(path);
	free(other);
	free(other_public);
}

static void
a_key_that_others_can_read_is_refused(void **state)
{
	static const mode_t refused[] = { 0644, 0640, 0604, 0620, 0610, 0601, 0660, 0777 };
	static const mode_t fine[] = { 0600, 0400, 0700 };
	struct key_pair k;

	skip_without_keys();
	for (size_t i = 0; i < N_ROWS(refused) + N_ROWS(fine); i++) {
		const int is_fine = i >= N_ROWS(refused);
		char *path = make_file(state, "k", is_fine ? fine[i - N_ROWS(refused)] : refused[i],
			"public = " PUBLIC "\nsecret = " SECRET "\n");

		assert_int_equal(key_pair_read(path, &k), is_fine ? RS_OK : RS_EDENIED);
		assert_string_equal(k.secret_key, is_fine ? SECRET : "");
		unlink(path);
		free(path);
	}
}

/* Reads the key as a user of that group alone; exits with the status. */
static enum rs_status
read_as(const char *path, gid_t group)
{
	const pid_t child = fork_within(60);
	struct key_pair k;
	int status;

	if (child == 0)
		_exit(setgroups(1, &group) != 0 || setgid(group) != 0 || setuid(12345) != 0
			? 255 : (int)key_pair_read(path, &k));
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return (enum rs_status)WEXITSTATUS(status);
}

/* root's with mode 0440 and the group of the process, and nothing that is like it. */
static void
a_secret_mounted_for_the_group_is_accepted(void **state)
{
	static const struct {
		uid_t user;
		gid_t group;
		mode_t mode;
		enum rs_status status;
	} row[] = {
		{ 0, 777, 0440, RS_OK }, { 0, 778, 0440, RS_EDENIED },
		{ 0, 777, 0444, RS_EDENIED }, { 0, 778, 0444, RS_EDENIED },
		{ 0, 777, 0660, RS_EDENIED }, { 0, 777, 0640, RS_EDENIED },
		{ 12346, 777, 0440, RS_EDENIED }, { 12345, 777, 0440, RS_EDENIED },
		{ 12345, 777, 0400, RS_OK }, { 12346, 777, 0400, RS_EDENIED },
	};

	skip_without_keys();
	if (geteuid() != 0)
		SKIP_BECAUSE("only root gives files away");
	assert_int_equal(chmod(*state, 0755), 0);
	for (size_t i = 0; i < N_ROWS(row); i++) {
		char *path = make_file(state, "k", row[i].mode,
			"public = " PUBLIC "\nsecret = " SECRET "\n");

		assert_int_equal(chown(path, row[i].user, row[i].group), 0);
		if (read_as(path, 777) != row[i].status)
			fail_msg("row %zu", i);
		unlink(path);
		free(path);
	}
}

static void
malformed_key_files_say_where_and_print_no_key(void **state)
{
	static const struct { const char *text, *where; } row[] = {
		{ "", "k" },
		{ "public = " PUBLIC "\n", "k" },
		{ "secret = " SECRET "\n", "k" },
		{ "public = " PUBLIC "\nsecret = " SECRET "x\n", "k:2:10" },
		{ "public = " PUBLIC "\nsecret = " SECRET " # mine\n", "k:2:10" },
		{ "public = " PUBLIC "\nsecret " SECRET "\n", "k:2:8" },
		{ "public = " PUBLIC "\npublic = " PUBLIC "\n", "k:2:1" },
		{ "# a\n  key = " PUBLIC "\n", "k:2:3" },
		{ "public = " OTHER "\nsecret = " SECRET "\n", "k" },
	};
	struct key_pair k;

	skip_without_keys();
	for (size_t i = 0; i < N_ROWS(row); i++) {
		char *path = make_file(state, "k", 0600, row[i].text);

		assert_int_equal(key_pair_read(path, &k), RS_EDENIED);
		assert_string_equal(rs_failure()->where + strlen(path) - 1, row[i].where);
		assert_null(strstr(rs_failure()->text, "D:)Q["));
		assert_int_equal(k.public_key[0], '\0');
		unlink(path);
		free(path);
	}
	assert_int_equal(key_pair_read("/nowhere/at/all", &k), RS_ENOINPUT);
	assert_int_equal(key_pair_read(*state, &k), RS_ENOINPUT);
}

static void
comments_and_blanks_of_a_key_file_are_skipped(void **state)
{
	char *path = make_file(state, "k", 0600, "# worker 0\r\n\r\n\t secret\t=  " SECRET
		" \r\npublic = " PUBLIC);
	struct key_pair k;

	skip_without_keys();
	assert_int_equal(key_pair_read(path, &k), RS_OK);
	assert_string_equal(k.public_key, PUBLIC);
	assert_string_equal(k.secret_key, SECRET);
	free(path);
}

static void
ids_are_three_bytes_and_differ(void **state)
{
	char a[9], b[9];

	(void)state;
	key_id(PUBLIC, a);
	key_id(OTHER, b);
	assert_int_equal(strlen(a), 8);
	assert_string_not_equal(a, b);
	assert_int_equal(strspn(a, "0123456789abcdef:"), 8);
	assert_true(a[2] == ':' && a[5] == ':');
}

static void
roles_have_names(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KEY_N_ROLES; i++) {
		const char *name = key_role_name((enum key_role)(1u << i));

		assert_non_null(name);
		assert_int_equal(key_role_parse(name, strlen(name)), 1u << i);
		assert_int_equal(key_role_parse(name, strlen(name) - 1), 0);
	}
	assert_int_equal(key_role_parse("", 0), 0);
	assert_null(key_role_name(KEY_ALL_ROLES));
}

static void
a_list_is_read(void **state)
{
	char *path = make_file(state, "list", 0644,
		"# who may\n\nmain coordinator,monitor " PUBLIC "  # host a\n"
		"\tw0\tworker\t" OTHER "\r\n");
	struct key_list l;

	assert_int_equal(key_list_read(path, &l), RS_OK);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.entry[0].name, "main");
	assert_int_equal(l.entry[0].roles, KEY_COORDINATOR | KEY_MONITOR);
	assert_string_equal(l.entry[1].public_key, OTHER);
	assert_ptr_equal(key_list_find(&l, OTHER), &l.entry[1]);
	assert_null(key_list_find(&l, SECRET));
	key_list_free(&l);
	assert_int_equal(l.n, 0);
	assert_int_equal(key_list_read("/nowhere/at/all", &l), RS_ENOINPUT);
	free(path);
}

static void
malformed_lists_say_file_line_and_column(void **state)
{
	static const struct { const char *text, *where, *says; } row[] = {
		{ "a worker\n", "list:1:9", "40 characters" },
		{ "a\n", "list:1:2", "unknown role" },
		{ "#\na boss " PUBLIC "\n", "list:2:3", "unknown role 'boss'" },
		{ "a worker,,ps " PUBLIC "\n", "list:1:10", "unknown role ''" },
		{ "a worker, " PUBLIC "\n", "list:1:10", "unknown role ''" },
		{ "a ps,works " PUBLIC "\n", "list:1:6", "unknown role 'works'" },
		{ "a worker " PUBLIC "0\n", "list:1:10", "40 characters" },
		{ "a worker " PUBLIC " x\n", "list:1:51", "end of the line" },
		{ "a worker " PUBLIC "\nb ps " PUBLIC "\n", "list:2:1", "that of 'a'" },
		{ PUBLIC PUBLIC " worker " OTHER "\n", "list:1:1", "at most 63" },
		{ "a\x01 worker " PUBLIC "\n", "list:1:1", "visible" },
		{ "a " PUBLIC " worker\n", "list:1:3", "unknown role '...'" },
	};

	for (size_t i = 0; i < N_ROWS(row); i++) {
		char *path = make_file(state, "list", 0644, row[i].text);
		struct key_list l;

		assert_int_equal(key_list_read(path, &l), RS_EDENIED);
		assert_string_equal(rs_failure()->where + strlen(path) - 4, row[i].where);
		if (strstr(rs_failure()->text, row[i].says) == NULL)
			fail_msg("'%s' is not in '%s'", row[i].says, rs_failure()->text);
		assert_null(strstr(rs_failure()->text, PUBLIC));
		assert_null(l.entry);
		free(path);
	}
}

static void
a_byte_of_0_ends_no_name(void **state)
{
	static const char text[] = "a\0b worker " PUBLIC "\n";
	struct key_list l;

	(void)state;
	assert_int_equal(key_list_parse("list", text, sizeof(text) - 1, &l), RS_EDENIED);
}

static void
set_number(char key[KEY_TEXT], size_t n)
{
	for (size_t i = 5; i-- > 0; n /= 10)
		key[i] = (char)('0' + n % 10);
}

static void
a_list_has_room_for_many(void **state)
{
	struct key_list l = { 0 };
	char key[KEY_TEXT] = OTHER, name[16];
	enum rs_status status = RS_OK;
	size_t n;

	(void)state;
	for (n = 0; n < 20000 && status == RS_OK; n++) {
		snprintf(name, sizeof(name), "w%zu", n);
		set_number(key, n);
		status = key_list_add(&l, name, KEY_WORKER, key);
	}
	assert_int_equal(status, RS_EDENIED);
	assert_int_equal(l.n, n - 1);
	assert_true(l.n >= 4096);
	for (size_t i = 0; i < l.n; i += 37) {
		set_number(key, i);
		assert_ptr_equal(key_list_find(&l, key), &l.entry[i]);
	}
	key_list_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_keys_differ_and_are_keys),
		cmocka_unit_test(only_z85_of_32_bytes_is_a_key),
		cmocka_unit_test_setup_teardown(a_written_pair_comes_back, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(a_key_file_is_never_overwritten, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(a_key_that_others_can_read_is_refused, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(a_secret_mounted_for_the_group_is_accepted,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(malformed_key_files_say_where_and_print_no_key,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(comments_and_blanks_of_a_key_file_are_skipped,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(ids_are_three_bytes_and_differ),
		cmocka_unit_test(roles_have_names),
		cmocka_unit_test_setup_teardown(a_list_is_read, tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(malformed_lists_say_file_line_and_column,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(a_byte_of_0_ends_no_name),
		cmocka_unit_test(a_list_has_room_for_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
