/* A directory as the system shows things in files, made up. */
#ifndef TESTS_BASE_TREE_FILES_H
#define TESTS_BASE_TREE_FILES_H

#include <string.h>

#include "tests/test.h"

/* Files of a tree: "path", "text", ..., NULL. */
static inline void
make_tree(const char *root, const char *const *file)
{
	for (; file[0] != NULL; file += 2) {
		char *path, *slash;

		assert_int_equal(file_join(root, file[0], &path), RS_OK);
		slash = strrchr(path, '/');
		*slash = '\0';
		assert_int_equal(file_make_directories(path), RS_OK);
		*slash = '/';
		assert_int_equal(file_replace(path, file[1], strlen(file[1])), RS_OK);
		free(path);
	}
}

#endif
