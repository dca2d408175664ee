/* What every command shares: the global options and the end of the program. */
#ifndef CMD_PROCESS_H
#define CMD_PROCESS_H

#include "cmd/command.h"

/* No file that is opened later becomes standard input, output or errors, when who started us
 * had one of them closed; to read or write that one fails as before. */
void process_keep_standard_files(void);
/* A write to a closed pipe, or to a file that may not grow, gives an error instead of ending the
 * program. */
void process_keep_write_errors(void);
/* -C, -q, -v, --log-file, --color and the others are checked and put into effect. */
enum rs_status process_start(const struct arguments *a);
/* --help, --version, or the command. */
enum rs_status process_run(const struct arguments *a);
/* Prints the failure; returns the exit code. */
int process_end(const struct arguments *a, enum rs_status status);
/* Out of memory: ends at once, without the farewells of libraries, of which one waits
 * for ever for memory that it wants to tidy up. */
_Noreturn void process_leave(int code);

#endif
