/*
 * The bed of the loader's tests: files of numbered rows in a fresh directory, a
 * spec over them, and traces of what a loader gave.
 */
#ifndef TESTS_DATA_LOADER_BED_H
#define TESTS_DATA_LOADER_BED_H

#include "data/loader.h"
#include "spec/spec.h"

#define ROWS 900u
#define ROW_MAX 64
#define MAX_BATCHES 4096

struct bed {
	struct spec *spec;
	struct schema schema;
	struct loader_options options;
	struct loader *loader;
};

struct trace {
	uint64_t digest[MAX_BATCHES];
	struct loader_position position[MAX_BATCHES];
	size_t   n;
	enum rs_status status;
	struct parser_tally tally;
};

int bed_setup(void **state);
int bed_teardown(void **state);
const char *bed_path(const char *name);
/* label, id, row number, list, weight */
size_t bed_make_rows(char *out, uint64_t first, uint64_t n, unsigned bad_every,
	unsigned zero_every);
void bed_write_text(const char *name, const char *text, size_t n);
void bed_write_rows(const char *name, uint64_t first, uint64_t n, unsigned bad_every,
	unsigned zero_every);
void bed_write_gzip(const char *name, uint64_t first, uint64_t n);
void bed_write_three(void);
/* train: patterns, or "run COMMAND". */
void bed_make(struct bed *bed, const char *train, const char *more);
/* From the text of a spec. */
void bed_make_of(struct bed *bed, const char *text);
void bed_free(struct bed *bed);
void bed_open(struct bed *bed);
/* Takes up to `most` batches. */
void bed_take(struct loader *loader, struct trace *t, size_t most);
void bed_run(struct bed *bed, struct trace *t);
void bed_assert_same(const struct trace *a, size_t from, const struct trace *b);
/* Numbers of the rows in the order they came; returns how many. */
size_t bed_row_order(struct loader *loader, unsigned *out, size_t room);

#endif
