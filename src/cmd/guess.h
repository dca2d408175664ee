/* What the columns of a sample are good for: the rules of `init`. */
#ifndef CMD_GUESS_H
#define CMD_GUESS_H

#include "cmd/sample.h"

enum guess_role {
	GUESS_LABEL, GUESS_NUMERIC, GUESS_CATEGORICAL, GUESS_MULTI,
	GUESS_ROW_ID, GUESS_TIME, GUESS_CONSTANT        /* these are left out         */
};

struct guess {
	enum guess_role role;
	char     multi_separator;
	const char *transform;         /* numeric: a value of the key                 */
	uint64_t buckets;              /* categorical, multi                          */
	uint64_t distinct;
};

#define GUESS_NO_LABEL ((size_t)-1)

/* Number of the label's column, GUESS_NO_LABEL when no column can be it; any_two: or
 * some column of two values, whatever they are. */
size_t guess_label(const struct sample *s, int any_two);
struct guess guess_column(const struct sample *s, size_t column, size_t label);

#endif
