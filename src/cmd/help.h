/* Help from the tables: for people, for the manual and for the shells. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/command.h"

/* A page of the manual that is of no command; the last has no name. */
struct help_topic { const char *name, *page; int section; const char *text; };
extern const struct help_topic help_topic[];

enum rs_status help_version(void);
/* Of one command, or of all when it is NULL. */
enum rs_status help_print(const struct arguments *a, const struct command *command);
/* Fragments of mdoc; command NULL: the global options, section NULL: all keys. */
enum rs_status help_mdoc_options(const struct command *command);
enum rs_status help_mdoc_keys(const char *section);
enum rs_status help_mdoc_exit(void);
enum rs_status help_mdoc_commands(void);
enum rs_status help_mdoc_models(void);
/* A spec with every key, its default and its text. */
enum rs_status help_sample(void);

#endif
