/* Inside of a rank of NCCL; for nccl.c and nccl_mesh.c only. */
#ifndef REDUCE_NCCL_PRIVATE_H
#define REDUCE_NCCL_PRIVATE_H

#include "reduce/nccl.h"

struct nccl {
	struct nccl_options o;
	void *comm;                     /* NULL: aborted, or never there               */
};

/* A wait that has an end. */
struct nccl_watch {
	double until, timeout, next;    /* next: look at NCCL then                     */
	size_t n_naps;
	const char *what;
};

struct nccl_watch nccl_watch_begin(const char *what, double timeout);
void nccl_nap(struct nccl_watch *w);
/* Gives up the rank. */
enum rs_status nccl_fail(struct nccl *n, const struct nccl_watch *w, const char *why);
/* The same where it is the GPU of the rank: RS_EDEVICE. */
enum rs_status nccl_fail_gpu(struct nccl *n, const struct nccl_watch *w);
/* RS_OK: nothing is wrong; *state: what NCCL is at, asked now and then. */
enum rs_status nccl_look(struct nccl *n, struct nccl_watch *w, int *state);

#endif
