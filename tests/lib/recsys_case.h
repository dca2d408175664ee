/*
 * A model directory of two versions and rows for it, shared by the tests of the library.
 */
#ifndef TESTS_LIB_RECSYS_CASE_H
#define TESTS_LIB_RECSYS_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/recsys.h"

#define RECSYS_CASE_ROWS 200

struct recsys_case {
	char   directory[64];          /* versions 1 and 2, CURRENT is 1              */
	char  *text;                   /* [n] RECSYS_CASE_ROWS lines                  */
	size_t n, line[RECSYS_CASE_ROWS + 1];  /* n: of all, line: where they begin   */
	float  logit[3][RECSYS_CASE_ROWS];     /* of version 1 and 2, by the trainer  */
	size_t dim;                    /* of vectors; 0: no towers                    */
	float *vector[3][2];           /* [RECSYS_CASE_ROWS,dim] of the user, item    */
};

/* A deepfm; set: "section.key=value" over the spec, or NULL. */
struct recsys_case *recsys_case_make(const char *set);
/* The same, of whose rows a few were trained: tables are files of rows by id. */
struct recsys_case *recsys_case_make_sparse(const char *set);
/* The same with a header: columns are found by name, and text begins with their names. */
struct recsys_case *recsys_case_make_named(void);
/* A two_tower over the same columns: fields a and m of the user, b and x of the item. */
struct recsys_case *recsys_case_make_towers(void);
void recsys_case_free(struct recsys_case *c);
/* The test fails when they cannot be opened. */
struct recsys *recsys_case_open(const struct recsys_case *c);
struct recsys_scorer *recsys_case_scorer(struct recsys *m, enum recsys_output output);
/* Line i alone: what recsys_score_text() gives. */
int recsys_case_line(const struct recsys_case *c, struct recsys_scorer *s, size_t i,
	struct recsys_scores *out);
/* Closes all of a test. */
void recsys_case_end(struct recsys_case *c, struct recsys *m, struct recsys_scorer *s);
/* 1 when the numbers are those of the trainer for rows from `row` on: logits or vectors.
 * Products of few rows and of many add in another order. */
int recsys_case_is_right(const struct recsys_case *c, enum recsys_output output, size_t row,
	const struct recsys_scores *scores);
int recsys_case_near(float x, float y);
/* CURRENT names this version from now on. */
void recsys_case_name(const struct recsys_case *c, uint64_t version);
/* "DIRECTORY/v00000N/NAME", valid until the next call. */
const char *recsys_case_file(const struct recsys_case *c, uint64_t version, const char *name);

#endif
