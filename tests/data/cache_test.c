/* Rows from a cache are those of the text, whatever happened to either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/cache.h"
#include "data/loader_private.h"
#include "tests/data/loader_bed.h"

static struct trace text, cached;

static void
read_text(struct bed *bed)
{
	bed->options.cache = LOADER_CACHE_NONE;
	bed_run(bed, &text);
}

/* Inputs that have a cache once they are open; the rows are those of read_text(). */
static size_t
read_cached(struct bed *bed, enum loader_cache cache)
{
	size_t n = 0;

	bed->options.cache = cache;
	bed_open(bed);
	for (size_t i = 0; i < bed->loader->n_inputs; i++)
		n += bed->loader->input[i].cache != NULL;
	bed_take(bed->loader, &cached, MAX_BATCHES);
	bed_assert_same(&text, 0, &cached);
	assert_int_equal(cached.status, text.status);
	assert_memory_equal(&cached.tally, &text.tally, sizeof text.tally);
	assert_memory_equal(cached.position, text.position, text.n * sizeof text.position[0]);
	return n;
}

static void
forget(void)
{
	assert_int_equal(file_remove_tree(bed_path("cache")), RS_OK);
}

/* Of the only file in the directory. */
static char *
only_cache(void)
{
	glob_t found;
	char *path;

	assert_int_equal(glob(bed_path("cache/*" CACHE_SUFFIX), 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	path = strdup(found.gl_pathv[0]);
	globfree(&found);
	return path;
}

static void
check_both_orders(struct bed *bed, size_t n_files)
{
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed->options.shuffle = shuffle;
		read_text(bed);
		assert_int_equal(read_cached(bed, LOADER_CACHE_USE), 0);
		assert_int_equal(read_cached(bed, LOADER_CACHE_MAKE), n_files);
		assert_int_equal(read_cached(bed, LOADER_CACHE_USE), n_files);
		forget();
	}
}

static void
rows_are_those_of_the_text(void **state)
{
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "cache = cache");
	check_both_orders(&bed, 3);
	bed_free(&bed);
	bed_write_rows("mixed", 0, ROWS, 50, 5);
	bed_make(&bed, "mixed", "cache = cache\non_bad_row = skip");
	check_both_orders(&bed, 1);
	bed_free(&bed);
	bed_make(&bed, "mixed", "cache = cache\non_bad_row = fail");
	check_both_orders(&bed, 1);
	bed_free(&bed);
	bed_write_gzip("packed.gz", 0, ROWS);
	bed_make(&bed, "packed.gz", "cache = cache");
	check_both_orders(&bed, 1);
	bed_free(&bed);
}

static void
resuming_goes_on_with_and_without(void **state)
{
	static struct trace rest;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "cache = cache");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed.options.shuffle = shuffle;
		read_text(&bed);
		for (uint64_t i = 0; i < 8; i++) {
			const size_t at = (size_t)rng_below(5, i, text.n);

			bed.options.cache = i % 2 == 0 ? LOADER_CACHE_MAKE : LOADER_CACHE_NONE;
			bed_open(&bed);
			assert_int_equal(loader_resume(bed.loader, &text.position[at]), RS_OK);
			bed_take(bed.loader, &rest, MAX_BATCHES);
			bed_assert_same(&text, at + 1, &rest);
		}
	}
	bed_free(&bed);
	forget();
}

/* Another text of the same size under the former times. */
static void
changed_text_is_never_read_from_the_cache(void **state)
{
	struct timespec times[2];
	struct stat before, after;
	struct bed bed;

	(void)state;
	bed_write_text("changes", "1\ta\t1\tx\t1\n0\tb\t2\ty\t1\n", 20);
	bed_make(&bed, "changes", "cache = cache\nheader = no");
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	assert_int_equal(stat(bed_path("changes"), &before), 0);
	times[0] = before.st_atim;
	times[1] = before.st_mtim;

	const int fd = open(bed_path("changes"), O_WRONLY);

	assert_int_equal(pwrite(fd, "z", 1, 2), 1);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	assert_int_equal(stat(bed_path("changes"), &after), 0);
	assert_true(after.st_size == before.st_size && after.st_ino == before.st_ino &&
		after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 0);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 1);
	bed_write_text("changes", "1\ta\t1\tx\t1\n", 10);
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 0);
	bed_free(&bed);
	forget();
}

/* The same text under other times is hashed, and its cache then has these times. */
static void
touched_text_keeps_its_cache(void **state)
{
	const struct timespec then[2] = { { 1000000000, 0 }, { 1000000000, 5 } };
	struct bed bed;

	(void)state;
	bed_write_rows("touched", 0, ROWS, 0, 0);
	bed_make(&bed, "touched", "cache = cache");
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	assert_int_equal(utimensat(AT_FDCWD, bed_path("touched"), then, 0), 0);
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 1);
	bed_free(&bed);
	forget();
}

static void
times_alone_are_enough_only_when_they_are_old(void **state)
{
	const struct cache_text of = { 7, 9 };
	struct cache_writer w;
	enum cache_state is;
	struct cache *c;
	struct stat st;
	struct bed bed;
	char *path;

	(void)state;
	bed_write_rows("aged", 0, 10, 0, 0);
	bed_make(&bed, "aged", "");
	assert_int_equal(file_make_directories(bed_path("cache")), RS_OK);
	assert_int_equal(cache_path(bed_path("cache"), "aged", 3, &path), RS_OK);
	assert_int_equal(stat(bed_path("aged"), &st), 0);
	for (int64_t later = 0; later < 20; later += 10) {
		assert_int_equal(cache_writer_open(&w, path), RS_OK);
		w.begun += later;
		assert_int_equal(cache_writer_commit(&w, bed_path("aged"), 3, &st, &of), RS_OK);
		cache_writer_close(&w);
		assert_int_equal(cache_open(path, 3, &st, &is, &c), RS_OK);
		assert_int_equal(is, later > 0 ? CACHE_SAME : CACHE_UNSURE);
		assert_memory_equal(cache_text(c), &of, sizeof of);
		cache_close(c);
	}
	st.st_ctim.tv_nsec ^= 1;
	assert_int_equal(cache_open(path, 3, &st, &is, &c), RS_OK);
	assert_int_equal(is, CACHE_UNSURE);
	cache_close(c);
	st.st_size++;
	assert_int_equal(cache_open(path, 3, &st, &is, &c), RS_OK);
	assert_true(is == CACHE_STALE && c == NULL);
	assert_int_equal(cache_open(path, 4, &st, &is, &c), RS_OK);
	assert_true(is == CACHE_NONE && c == NULL);
	free(path);
	bed_free(&bed);
	forget();
}

static void
another_spec_has_another_cache(void **state)
{
	static const char *const more[] = {
		"cache = cache\nmissing = 1", "cache = cache\n[embedding]\ndim = 3\n[data]",
		"cache = cache\ntrim = yes", "cache = cache\nthreads = 3",
		"cache = cache\n[field new]\ncolumn = 2\nbuckets = 9\n[data]",
	};
	static const int same[] = { 0, 1, 0, 1, 0 };
	struct bed bed;

	(void)state;
	bed_write_rows("keys", 0, ROWS, 0, 0);
	bed_make(&bed, "keys", "cache = cache");
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	bed_free(&bed);
	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
		bed_make(&bed, "keys", more[i]);
		read_text(&bed);
		assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), same[i]);
		bed_free(&bed);
	}
	forget();
}

/* In place, and not to the disk. */
static void
write_plainly(const char *path, const char *bytes, size_t n)
{
	FILE *const f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* One group is damaged, which is seen when it is read; then the file goes. */
static void
one_made_anew_is_not_the_one_that_was(void **state)
{
	char *path, *bytes;
	struct bed bed;
	size_t n;

	(void)state;
	bed_write_rows("anew", 0, 200, 0, 0);
	bed_make(&bed, "anew", "cache = cache");
	read_text(&bed);
	for (int anew = 0; anew < 2; anew++) {
		assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
		path = only_cache();
		assert_int_equal(file_read(path, 1 << 24, &bytes, &n), RS_OK);
		bytes[0] ^= 1;
		write_plainly(path, bytes, n);
		assert_int_equal(read_cached(&bed, anew ? LOADER_CACHE_MAKE_ANEW
			: LOADER_CACHE_MAKE), 1);
		assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), anew);
		free(bytes);
		free(path);
	}
	bed_free(&bed);
	forget();
}

static void
damage_is_seen(void **state)
{
	char *path, *bytes, *copy;
	size_t n, used = 0;
	struct bed bed;

	(void)state;
	bed_write_rows("hurt", 0, 200, 0, 0);
	bed_make(&bed, "hurt", "cache = cache");
	read_text(&bed);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	path = only_cache();
	assert_int_equal(file_read(path, 1 << 24, &bytes, &n), RS_OK);
	copy = malloc(n);
	for (uint64_t i = 0; i < 200; i++) {
		const size_t left = i % 4 == 3 ? (size_t)rng_below(8, i, n) : n;

		memcpy(copy, bytes, n);
		copy[rng_below(7, i, n)] ^= (char)(1 << i % 8);
		write_plainly(path, copy, left);
		used += read_cached(&bed, LOADER_CACHE_USE);
	}
	assert_in_range(used, 1, 199);          /* one group of it is damaged: the text is read */
	/* and the next run makes it anew */
	memcpy(copy, bytes, n);
	copy[0] ^= 1;
	write_plainly(path, copy, n);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 1);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 0);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 1);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 1);
	/* what is no file is none, and is not waited for */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 0);
	assert_int_equal(unlink(path), 0);
	free(copy);
	free(bytes);
	free(path);
	bed_free(&bed);
	forget();
}

static void
without_room_rows_come_from_the_text(void **state)
{
	struct rlimit limit, small;
	struct bed bed;

	(void)state;
	bed_write_rows("roomless", 0, ROWS, 0, 0);
	bed_make(&bed, "roomless", "cache = cache");
	read_text(&bed);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(rmdir(bed_path("cache")), 0);  /* nothing is left in it         */
	bed_write_text("cache", "", 0);
	assert_int_equal(read_cached(&bed, LOADER_CACHE_MAKE), 0);
	assert_int_equal(unlink(bed_path("cache")), 0);
	bed_free(&bed);
}

static void
runs_at_once_do_not_disturb_each_other(void **state)
{
	pid_t child[4];
	struct bed bed;
	int status;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "cache = cache");
	read_text(&bed);
	loader_close(bed.loader);              /* a child has none of its threads           */
	bed.loader = NULL;
	for (size_t i = 0; i < 4; i++) {
		child[i] = fork();
		if (child[i] != 0)
			continue;
		for (size_t k = 0; k < 5; k++)
			if (read_cached(&bed, LOADER_CACHE_MAKE) != 3)
				_exit(1);
		_exit(0);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(read_cached(&bed, LOADER_CACHE_USE), 3);
	bed_free(&bed);
	forget();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_the_text),
		cmocka_unit_test(resuming_goes_on_with_and_without),
		cmocka_unit_test(changed_text_is_never_read_from_the_cache),
		cmocka_unit_test(touched_text_keeps_its_cache),
		cmocka_unit_test(times_alone_are_enough_only_when_they_are_old),
		cmocka_unit_test(another_spec_has_another_cache),
		cmocka_unit_test(one_made_anew_is_not_the_one_that_was),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(without_room_rows_come_from_the_text),
		cmocka_unit_test(runs_at_once_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
