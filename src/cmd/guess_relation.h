/*
 * How the columns of a sample belong together: whose ids a sequence holds, which
 * sequences are aligned item by item, and what describes the item of a row.
 */
#ifndef CMD_GUESS_RELATION_H
#define CMD_GUESS_RELATION_H

#include "cmd/guess.h"

/* From 0, nothing speaks for it, to about 2: how much the items of the sequence in
 * one column look like the ids in another.  From names, shared ids and ranges. */
double guess_relation_likeness(const struct sample *s, size_t sequence, char separator,
	size_t column);
enum { GUESS_RELATION_WEAK = 5 };       /* tenths: below, a person should look       */

/* The rows of both have one number of items. */
int guess_relation_is_aligned(const struct sample *s, size_t a, char a_separator, size_t b,
	char b_separator);

enum guess_side { GUESS_SIDE_UNKNOWN, GUESS_SIDE_USER, GUESS_SIDE_ITEM };

/* Whether a column of this name describes the user or what is shown to the user. */
enum guess_side guess_relation_side(const char *name);
/* The name of ids of users themselves: user, uid, visitor ... */
int guess_relation_is_user(const char *name);

#endif
