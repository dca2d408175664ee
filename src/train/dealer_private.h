/* Inside of a dealer; for dealer*.c only. */
#ifndef TRAIN_DEALER_PRIVATE_H
#define TRAIN_DEALER_PRIVATE_H

#include "train/dealer.h"

/* What a rank tells of itself with every step. */
struct dealer_head {
	struct dealer_mark mark;
	struct parser_tally tally;
	uint64_t n_rows, n_bytes;          /* that it adds to the batch               */
	uint64_t done;                     /* its files are at the end of the epoch   */
	uint64_t epoch_rows, epoch_steps;  /* 0: not known                            */
};

struct dealer {
	struct dealer_options options;
	struct loader *loader;             /* of this rank's files                    */
	size_t n_ranks;                    /* 0: rows are not dealt by file           */
	/* Dealt by file: */
	struct loader_file *file;          /* [n_files] of all ranks                  */
	size_t n_files;
	struct dealer_head *head;            /* [n_ranks]                               */
	struct batch batch;                /* of all ranks                            */
	unsigned char *block;              /* [capacity] rows as bytes                */
	size_t capacity, *begin;           /* [n_ranks+1] of each rank                */
	uint64_t epoch, rows;              /* of the batch that comes                 */
};

/* Files of rank r: r, r + R, ... */
size_t dealer_n_own(const struct dealer *d, size_t rank);
/* The list of files, and the loader of this rank's. */
enum rs_status dealer_open_files(struct dealer *d);
/* There are fewer files than workers. */
enum rs_status dealer_fail_count(size_t n_files, size_t n_ranks);

#endif
