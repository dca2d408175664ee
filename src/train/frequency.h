/*
 * How often items come up in training rows, estimated as rows stream by.
 *
 * X. Yi et al. 2019, section 4.3: of every item (hashed to n places) the row it was
 * last seen in and the mean distance between two such rows are kept; the share of
 * rows that are about the item is one over the distance.  Items of a table without
 * buckets, or of several rounds, have places of their own, as many as there are items.
 * Here time counts rows, not steps, so that items more frequent than once a batch are
 * told apart; the first 1/rate distances are averaged, later ones follow at the rate.
 * A pure function of the rows in their order; saved with every version.  One thread
 * adds, any number asks in between.
 */
#ifndef TRAIN_FREQUENCY_H
#define TRAIN_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "train/manifest.h"

#define FREQUENCY_FILE "frequency.bin"

struct frequency;

/* n 0: a place for every item. */
enum rs_status frequency_create(size_t n, double rate, struct frequency **out);
void frequency_free(struct frequency *f);
/* Fingerprints of the items of B rows. */
enum rs_status frequency_add(struct frequency *f, const uint64_t *item, size_t B);
/* From now on the last n calls of frequency_add() can be taken back. */
enum rs_status frequency_remember(struct frequency *f, size_t n);
/* Rows added so far. */
uint64_t frequency_rows(const struct frequency *f);
/* Back to when so many were; RS_EUNMET: that was no end of a call, or is too long ago. */
enum rs_status frequency_take_back(struct frequency *f, uint64_t rows);
/* Share of the rows, in (0,1]; 0 for an item never added. */
double frequency_share(const struct frequency *f, uint64_t item);

enum rs_status frequency_save(const struct frequency *f, struct file_writer *w);
/* Refuses a file of another number of places; n 0 and other. */
enum rs_status frequency_load(struct frequency *f, const char *path);
/* The same from a version of the model; says so when it has none.  f NULL: nothing. */
enum rs_status frequency_restore(
	struct frequency *f, const struct manifest *manifest, const char *version);

#endif
