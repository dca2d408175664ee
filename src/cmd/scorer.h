/*
 * Scores data rows in the order of the files: model, parser and workers in one.
 *
 * The model brings everything; `id` names a further column (by name or number)
 * whose text comes with each row.  scorer_next() gives the rows of the next piece
 * of text, B == 0 at the end; they are borrowed until the next call.  Numbers do
 * not depend on the number of threads.
 *
 * With follow a piece is what one read gave, and between two pieces the version that
 * CURRENT has come to name takes the place of the model: what scorer_model() and
 * scorer_workers() gave before a call of scorer_next() is gone after it.
 */
#ifndef CMD_SCORER_H
#define CMD_SCORER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/parser.h"
#include "train/model.h"
#include "train/workers.h"

struct scorer_options {
	const char *model;             /* directory, or a version inside one          */
	const char *const *data;       /* [n_data] patterns or "-"                    */
	size_t n_data;
	enum parser_purpose purpose;
	const char *id;                /* column, or NULL: the spec's data.id         */
	const char *field;             /* instead of id: the column of this field     */
	int    keep_bad_rows;          /* they come with label NaN                    */
	int    with_groups;            /* predict: batch.group is wanted              */
	int    without_scores;         /* logit is NULL                               */
	int    with_cells;             /* scorer_cell() is wanted                     */
	int    follow;                 /* data is a stream of lines, read as it comes */
	size_t n_threads;              /* 0: auto                                     */
};

struct scorer_rows {
	const struct batch *batch;
	const float *logit;            /* [B], NULL: not wanted                       */
	const struct parser_ids *ids;  /* NULL when no column was named               */
	uint64_t first;                /* number of the first row, from 0             */
};

struct scorer;

enum rs_status scorer_open(const struct scorer_options *options, struct scorer **out);
void scorer_close(struct scorer *s);
enum rs_status scorer_next(struct scorer *s, struct scorer_rows *out);

/* Text of row b of the last piece, as parser_cell_text() has it. */
const char *scorer_cell(const struct scorer *s, size_t b, size_t field, size_t *n);

struct model *scorer_model(const struct scorer *s);
uint64_t scorer_version(const struct scorer *s);   /* of the model             */
struct workers *scorer_workers(const struct scorer *s);
const struct text_list *scorer_files(const struct scorer *s);
const struct parser_tally *scorer_tally(const struct scorer *s);
const uint64_t *scorer_unseen(const struct scorer *s);     /* [2] never trained, all */

#endif
