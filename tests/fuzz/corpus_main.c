/*
 * Runs a fuzz target over its corpus, tests/fuzz/corpus/NAME of NAME_fuzz: every file, every
 * cut of it, every byte of it changed in a few ways.
 */
#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

enum { FILE_MAX = 1 << 20, CHANGED_MAX = 2048 };

static void
feed(const char *bytes, size_t n)
{
	/* A copy: its end is known to sanitizers. */
	uint8_t *copy = malloc(n > 0 ? n : 1);

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, bytes, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static void
feed_changed(char *bytes, size_t n)
{
	static const unsigned char change[] = { 0x01, 0x80, 0xff, 0x20 };

	for (size_t cut = 0; cut < n && cut < CHANGED_MAX; cut++)
		feed(bytes, cut);
	for (size_t at = 0; at < n && at < CHANGED_MAX; at++)
		for (size_t i = 0; i < sizeof(change); i++) {
			bytes[at] = (char)(bytes[at] ^ change[i]);
			feed(bytes, n);
			bytes[at] = (char)(bytes[at] ^ change[i]);
		}
}

static int
feed_file(const char *directory, const char *name)
{
	char *path, *bytes;
	size_t n;

	FUZZ_CHECK(file_join(directory, name, &path) == RS_OK);
	const enum rs_status status = file_read(path, FILE_MAX, &bytes, &n);
	free(path);
	if (status != RS_OK)
		return 0;
	feed(bytes, n);
	feed_changed(bytes, n);
	free(bytes);
	return 1;
}

int
main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/');
	const char *source = getenv("SRCDIR");
	char directory[4096];
	size_t n_files = 0;

	(void)argc;
	base = base != NULL ? base + 1 : argv[0];
	snprintf(directory, sizeof(directory), "%s/tests/fuzz/corpus/%.*s",
		source != NULL ? source : ".", (int)strcspn(base, "_"), base);
	DIR *d = opendir(directory);
	if (d == NULL) {
		fprintf(stderr, "no corpus '%s'\n", directory);
		return 99;
	}
	for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
		if (e->d_name[0] != '.')
			n_files += (size_t)feed_file(directory, e->d_name);
	closedir(d);
	printf("%zu files\n", n_files);
	return n_files > 0 ? 0 : 1;
}
