/*
 * The file of rows by id of a hashed table (embed/rows_file.h), made piece by piece: which rows it
 * has is kept from the beginning, a bit each, what is in them is read when a piece is made.
 * It is the file that rows_file_write() makes if the table stays as it is.
 */
#ifndef EMBED_ROWS_PIECES_H
#define EMBED_ROWS_PIECES_H

#include "embed/rows_file.h"

struct rows_pieces {
	const struct table *t;         /* borrowed                                    */
	struct rows_file_header header;
	uint64_t *marked;              /* [n_rows], owned; NULL: not opened           */
	float    *scratch;             /* of a row, owned                             */
};

enum rs_status rows_pieces_open(const struct table *t, struct rows_pieces *p);
void rows_pieces_close(struct rows_pieces *p);
/* What has bytes [from,to) of the file in it, whole entries: *begins is where its first byte is
 * in the file. */
enum rs_status rows_pieces_write(struct rows_pieces *p, uint64_t from, uint64_t to,
	struct file_writer *w, uint64_t *begins);

#endif
