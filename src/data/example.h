/*
 * Rows of format tfrecord: the context features of a tf.Example, by name.
 *
 * A feature is what the cell of that column would be in CSV: bytes as they are,
 * an integer its decimal text, a float its shortest text as Python writes it, a
 * list the items of a cell with separators.  A feature that is not there, has no
 * kind or no values is missing.  A record whose data cannot be read is a bad row;
 * a bad length ends the file with an error whatever the policy; a record that the
 * end of the file cuts off is left out, with a warning, and counts as skipped.
 */
#ifndef DATA_EXAMPLE_H
#define DATA_EXAMPLE_H

#include "base/status.h"
#include "data/batch.h"
#include "data/parser.h"

struct examples;

enum rs_status examples_open(const struct parser *p, struct examples **out);
void examples_close(struct examples *e);

/* The rows of a span. */
enum rs_status examples_parse(struct parser *p, const struct parser_span *span,
	struct batch *batch, struct parser_tally *tally);
/* RS_EDATA unless text begins with a length that is sound. */
enum rs_status examples_check(const char *file, uint64_t record, uint64_t offset,
	const char *text, size_t n);

/* Shortest text that reads back as the same float, in the manner of Python and
 * pandas: 8.0, 0.1, 1e-05, 1e+16; returns out. */
char *example_float_text(char out[32], float value);

#endif
