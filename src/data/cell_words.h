/*
 * What the first eight bytes of many cells come to, at once: the code that is right is plain
 * C over arrays, compiled for every level of x86 as well; the compiler makes the vectors.
 *
 * word[i] is id_load64() of cell i, whose length[i] says how many of these bytes are its
 * own.  One level is chosen at start; all give the same.
 */
#ifndef DATA_CELL_WORDS_H
#define DATA_CELL_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct cell_words {
	const char *name;
	int (*has)(void);          /* 1: this processor can                          */
	/* hash[n] becomes Fingerprint64 of all eight bytes. */
	void (*hash)(size_t n, const uint64_t *word, uint64_t *hash);
	/* value[n] becomes the number that the first length[n] <= 8 digits are, 0 of none, -1
	 * when one of them is no digit. */
	void (*digits)(size_t n, const uint64_t *word, const uint64_t *length, int64_t *value);
};

/* Best first; the last, baseline, is for every processor; name NULL: the end. */
extern const struct cell_words cell_words_levels[];
const struct cell_words *cell_words_best(void);

#endif
