/*
 * The command line against the option rows, GNU style: --name VALUE, --name=VALUE,
 * -d VALUE, -dVALUE, clustered flags, `--`.  Long names have no abbreviations.
 * Global options may stand before and after the command.
 */
#ifndef CMD_ARGUMENTS_H
#define CMD_ARGUMENTS_H

#include "cmd/command.h"

/* out holds what was read also on RS_EUSAGE; command stays NULL when none was
 * named.  Free with arguments_free() in every case. */
enum rs_status arguments_parse(int argc, char **argv, struct arguments *out);
void arguments_free(struct arguments *a);
/* NULL when there is none of that name or alias. */
const struct command *arguments_command(const char *name);
enum rs_status arguments_unknown_command(const char *name);

#endif
