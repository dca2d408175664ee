/*
 * A directory of this process for readers that want files by name; it goes at the end.
 */
#ifndef TESTS_FUZZ_PLACE_FUZZ_H
#define TESTS_FUZZ_PLACE_FUZZ_H

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

static char place_fuzz[64];

static inline void
place_fuzz_remove(void)
{
	(void)file_remove_tree(place_fuzz);
}

static inline const char *
place_fuzz_directory(void)
{
	if (place_fuzz[0] == '\0') {
		snprintf(place_fuzz, sizeof place_fuzz, "/tmp/fuzz-XXXXXX");
		FUZZ_CHECK(mkdtemp(place_fuzz) != NULL);
		atexit(place_fuzz_remove);
	}
	return place_fuzz;
}

/* Not synced: files of tests may be lost. */
static inline void
place_fuzz_write(const char *name, const void *bytes, size_t n)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", place_fuzz_directory(), name);
	FILE *const file = fopen(path, "wb");
	FUZZ_CHECK(file != NULL);
	FUZZ_CHECK(fwrite(bytes, 1, n, file) == n);
	FUZZ_CHECK(fclose(file) == 0);
}

#endif
