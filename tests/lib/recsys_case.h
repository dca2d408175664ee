/*
 * A model directory of two versions and rows for it, shared by the tests of the library.
 */
#ifndef TESTS_LIB_RECSYS_CASE_H
#define TESTS_LIB_RECSYS_CASE_H

#include <stddef.h>
#include <stdint.h>

#define RECSYS_CASE_ROWS 200

struct recsys_case {
	char   directory[64];          /* versions 1 and 2, CURRENT is 1              */
	char  *text;                   /* [n] RECSYS_CASE_ROWS lines                  */
	size_t n, line[RECSYS_CASE_ROWS + 1];
	float  logit[3][RECSYS_CASE_ROWS];     /* of version 1 and 2, by the trainer  */
};

/* set: "section.key=value" over the spec, or NULL. */
struct recsys_case *recsys_case_make(const char *set);
void recsys_case_free(struct recsys_case *c);
/* CURRENT names this version from now on. */
void recsys_case_name(const struct recsys_case *c, uint64_t version);
/* "DIRECTORY/v00000N/NAME", valid until the next call. */
const char *recsys_case_file(const struct recsys_case *c, uint64_t version, const char *name);

#endif
