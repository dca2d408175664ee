/*
 * Where the entry of an id is among entries in the order of their ids, which cost a cache line
 * each to look at: [n] of a file of rows by id.
 *
 * A place stands for an id, or for 2^shift that follow each other, so that there are 8 to 16
 * places an entry at most; it has a bit, 1 when there is such an entry.  A group of places is a
 * cache line: their bits, and how many entries come before them.  What is not there is answered
 * by a bit most often, what is there by the number of bits before its own.
 *
 * Nothing is read when it is opened: a group is learned when one of its ids is first asked
 * for.  Any number of threads ask; two that learn a group write the same.
 */
#ifndef LIB_MAPPED_INDEX_H
#define LIB_MAPPED_INDEX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MAPPED_INDEX_WORDS 7u

/* The id of entry i; of a file that is damaged, an error that is passed on. */
struct mapped_index_ids {
	enum rs_status (*id)(const void *context, uint64_t i, uint64_t *id);
	const void *context;
	uint64_t n;
	uint64_t most;                 /* the largest id there may be                 */
};

struct mapped_index_group {
	/* 1 + the number of its first entry; 0: nothing is known of it. */
	_Atomic uint64_t first;
	_Atomic uint64_t bits[MAPPED_INDEX_WORDS];
};

struct mapped_index {
	struct mapped_index_ids ids;
	struct mapped_index_group *group;      /* owned                               */
	size_t   bytes;                /* of all groups                               */
	unsigned shift;
};

/* ids is copied, its context borrowed. */
enum rs_status mapped_index_open(const struct mapped_index_ids *ids, struct mapped_index *out);
void mapped_index_close(struct mapped_index *x);

/* The number of the entry of this id, at most ids.most; ids.n: there is none. */
enum rs_status mapped_index_find(const struct mapped_index *x, uint64_t id, uint64_t *at);

#endif
