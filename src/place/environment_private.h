/* Inside of the reader of launchers; for environment*.c only. */
#ifndef PLACE_ENVIRONMENT_PRIVATE_H
#define PLACE_ENVIRONMENT_PRIVATE_H

#include "place/environment.h"

struct environment_reader {
	const char *(*get)(const char *name);
	struct environment *out;
};

#define ENVIRONMENT_NEEDED SIZE_MAX

/* NULL: not there, or empty. */
const char *environment_value(const struct environment_reader *r, const char *name);
enum rs_status environment_number(const struct environment_reader *r, const char *name,
	size_t missing, size_t *out);
enum rs_status environment_tf_config(const struct environment_reader *r);

#endif
