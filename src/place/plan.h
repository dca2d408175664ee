/*
 * The placement of a run: what goes where, how much that is, and why.
 *
 * plan_make() is a pure function of spec, model and what the host offers; plan_measure()
 * adds what a sample of the data says about traffic.  plan and train print the same text,
 * and the run database keeps it.  What cannot work is refused here, before any process is
 * started: RS_ESPEC, RS_ERESOURCE name what does not fit and what would.
 */
#ifndef PLACE_PLAN_H
#define PLACE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "remote/parts.h"
#include "spec/spec.h"
#include "train/model.h"

/* What the planner is told about host and launcher, so that tests can tell it anything. */
struct plan_host {
	uint64_t memory_bytes;      /* that a process may use; 0: unknown             */
	size_t   n_cores;
	int      has_zmq, has_mpi, under_mpi, n_hosts;
};

struct plan_table {
	char     name[128];
	uint64_t rows, dim, bytes, slot_bytes;
	size_t   n_parts;
	double   keys_a_step, occurrences_a_step;   /* measured; NaN: not               */
};

struct plan_shard {
	uint64_t rows, bytes;
	double   keys_a_step, pull_bytes, push_bytes;     /* a step; NaN: not measured  */
};

struct plan {
	enum placement_mode mode;   /* never auto                                     */
	enum consistency consistency;
	enum compression compress;  /* never auto                                     */
	enum dense_plane dense;     /* never auto                                     */
	size_t   n_workers, n_ps, n_threads, n_slots;
	uint64_t embedding_params, dense_params, embedding_bytes, dense_bytes;
	double   embedding_share;   /* of bytes with slots                            */
	char     why_mode[256], why_dense[256];
	struct plan_table *table;
	size_t   n_tables;
	struct plan_shard *shard;   /* [n_ps]                                         */
	struct parts parts;
	double   balance;           /* largest shard's bytes / mean                   */
	uint64_t worker_bytes, shard_bytes;     /* of one process, the largest         */
	double   rows_a_step, steps_a_second;   /* measured; NaN: not                  */
	uint64_t sampled_steps;
};

enum rs_status plan_make(const struct settings *s, const struct model *shape,
	const struct plan_host *host, struct plan *out);
/* Reads up to n_steps batches and counts keys. */
enum rs_status plan_measure(struct plan *p, struct model *shape, uint64_t n_steps);
void plan_free(struct plan *p);
enum rs_status plan_print(const struct plan *p, struct buffer *out);      /* for people */
enum rs_status plan_json(const struct plan *p, struct json *out);
/* The host at hand. */
void plan_host_here(struct plan_host *out);

#endif
