/* What command_spec() is made of, for commands that report problems themselves. */
#ifndef CMD_COMMAND_SPEC_H
#define CMD_COMMAND_SPEC_H

#include "cmd/command.h"

/* As command_spec(), but *out stays with its problems on RS_ESPEC, and nothing is
 * printed.  *path: the file of the spec. */
enum rs_status command_spec_read(const struct arguments *a, const char *const *extra,
	size_t n_extra,
	struct spec **out, size_t *n_used, const char **path);
/* Prints errors, n_max at most, and all warnings on stderr; path: of the spec, for those that
 * are of no line. */
void command_spec_report(const struct spec *spec, const char *path, size_t n_max);
void command_spec_count(const struct spec *spec, size_t *errors, size_t *warnings);

#endif
