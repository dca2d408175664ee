/*
 * The training rows of a run: batches that are the same in every rank.
 *
 * Every rank reads all rows (cluster.policy = record), and this is just a loader; or each
 * reads its own files only, file i of the list being rank i mod R's (policy = file).  Then
 * a rank's loader has its share of the batch size, and at every step the ranks gather what
 * each has next and put it together in the order of ranks.  A rank whose files are at their
 * end adds nothing until those of all are: that is the end of an epoch.  The rows of a step
 * are a function of files, spec, seed and number of ranks.  All calls but dealer_close() and
 * those that give what is known are made by every rank in the same order.
 */
#ifndef TRAIN_DEALER_H
#define TRAIN_DEALER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/loader.h"
#include "train/place.h"

struct dealer;

struct dealer_options {
	struct loader_options loader;      /* of the whole run                        */
	const struct train_place *place;   /* borrowed; NULL: alone                   */
	size_t n_slots;
	int    by_file;                    /* of no effect for one rank               */
};

/* What a version tells of the input; caller frees the arrays. */
struct dealer_past {
	struct dealer_mark *mark;            /* [n_marks] of every rank; 0: not by file */
	size_t n_marks;
	struct parser_tally *tally;        /* [n_tallies] of every file               */
	size_t n_tallies;
};

/* Where one rank is in its files. */
struct dealer_mark {
	struct loader_position position;
	uint64_t ended;                    /* there are no more epochs of it          */
};

/* RS_ESPEC when rows cannot be dealt by file to so many ranks. */
enum rs_status dealer_check(const struct settings *settings, size_t n_ranks);
/* cluster.policy, and what auto comes to: file when nobody asks for the bits of one process
 * anyway, the ranks are of this host, and each gets about as many bytes in files of its own. */
struct dealer_policy {
	enum policy policy;                /* never auto                              */
	char why[160];
};
enum rs_status dealer_choose(const struct settings *settings, size_t n_ranks, size_t n_hosts,
	struct dealer_policy *out);

enum rs_status dealer_open(const struct dealer_options *options, struct dealer **out);
void dealer_close(struct dealer *dealer);
/* Before the first dealer_next(): goes on from there; past is that of rank 0. */
enum rs_status dealer_resume(struct dealer *dealer, const struct loader_position *position,
	const struct dealer_past *past);
/* As loader_next(). */
enum rs_status dealer_next(struct dealer *dealer, const struct batch **batch, double *wait_s);
/* The counts of all files become known to all ranks. */
enum rs_status dealer_share_files(struct dealer *dealer);

/* Of all ranks, after the batch last given. */
void dealer_position(const struct dealer *dealer, struct loader_position *out);
void dealer_tally(const struct dealer *dealer, struct parser_tally *out);
/* Rows and steps of one epoch; 0: not known. */
uint64_t dealer_rows(const struct dealer *dealer);
uint64_t dealer_steps(const struct dealer *dealer);
/* As of the last dealer_share_files(). */
size_t dealer_n_files(const struct dealer *dealer);
const struct loader_file *dealer_file(const struct dealer *dealer, size_t i);
/* Marks of all ranks when rows are dealt by file, else 0. */
size_t dealer_n_marks(const struct dealer *dealer);
struct dealer_mark dealer_mark(const struct dealer *dealer, size_t rank);

#endif
