/* What launch and its process on each host have to agree about. */
#ifndef CMD_LAUNCH_PRIVATE_H
#define CMD_LAUNCH_PRIVATE_H

#include "base/memory.h"
#include "base/status.h"
#include "cmd/command.h"
#include "comm/keys.h"

/* The first line of what the process of a host reads: a mark and a length, padded. */
#define LAUNCH_MARK  "recsys-train-launch-1"
#define LAUNCH_HEAD  ((size_t)40)
/* The line, on the standard output of the first host, with the address of the coordinator. */
#define LAUNCH_READY "recsys-train-launch-ready"

enum rs_status launch_here(const struct arguments *a);

/* One host and the program, ssh, that runs there what is to be run. */
struct launch_host {
	char   name[256];           /* as given: [user@]host                          */
	size_t n_workers, first;    /* first: number of its first worker              */
	int    pid;                 /* 0: does not run                                */
	int    in, out, err;        /* its standard input, output and error; -1 closed */
	struct buffer text[2];      /* of out and err: what is of no complete line    */
	int    status;              /* of waitpid()                                   */
	int    has_ended, is_ready;
	double restarts[8];         /* times of the latest                            */
	size_t n_restarts;
};

/* "a:4,b:2"; *n of them, which the caller frees. */
enum rs_status launch_host_parse(const char *text, struct launch_host **out, size_t *n);
/* Starts WORDS HOST COMMAND, with pipes. */
enum rs_status launch_host_start(struct launch_host *h, const char *words, const char *command);
/* Gives it text to read; what it does not take within some seconds is a failure, but not that it
 * has closed its input: its end is to be judged. */
enum rs_status launch_host_tell(struct launch_host *h, const char *text, size_t n);
/* Reads what is there; every whole line is given to take(context, h, is_error, line). */
void launch_host_hear(struct launch_host *h,
	void (*take)(void *context, struct launch_host *h, int is_error, const char *line),
	void *context);
/* 1: it has ended now, or had before. */
int  launch_host_ended(struct launch_host *h);
void launch_host_close(struct launch_host *h);
void launch_host_free(struct launch_host *h, size_t n);

#endif
