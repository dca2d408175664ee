/*
 * The placement of a run: what goes where, how much that is, and why.
 *
 * placement_make() is a pure function of spec, model, what the host offers, and when rows
 * may be dealt by file the sizes of the files;
 * placement_measure() adds what a sample of the data says about traffic.  plan and train
 * print the same text, and the run database keeps it.  What cannot work is refused here,
 * before any process is started: RS_ESPEC, RS_EUSAGE, RS_ERESOURCE name what does not fit
 * and what would.
 */
#ifndef PLACE_PLACEMENT_H
#define PLACE_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "remote/parts.h"
#include "spec/spec.h"
#include "train/dealer.h"
#include "train/model.h"

#define PLACEMENT_WHY 320

struct batch;

/* What the planner is told about host and launcher, so that tests can tell it anything. */
struct placement_host {
	uint64_t memory_bytes;      /* that all processes here may use; 0: unknown    */
	size_t   n_cores, n_hosts;
	const char *no_mpi;         /* why not; NULL: it can be used                  */
	const char *no_nccl;        /* of this machine                                */
	int      has_messages;      /* built with ZeroMQ                              */
	const char *no_shm;
	size_t   n_gpus;            /* for the workers of a host; 0: unknown          */
};

struct placement_table {
	char     name[128];
	uint64_t rows, bytes;       /* bytes: weights, optimizer slots, touched bits  */
	uint64_t memory, disk;      /* larger than memory: of a worker, at most; 0: it is not */
	size_t   dim, n_slot, n_parts;
	double   occurrences, keys; /* of a step; keys: of all workers together; NaN: unknown */
};

struct placement_shard {
	uint64_t rows, bytes;
	double   keys, pull_bytes, push_bytes;     /* of a step; NaN: unknown         */
};

struct placement {
	enum placement_mode mode;           /* never auto                             */
	enum consistency consistency;
	enum compression compress;          /* never auto                             */
	enum dense_plane dense;             /* never auto; shm when one worker is all */
	/* What else sums: all but gradients with nccl, which it takes the place of when a
	 * worker cannot; else dense. */
	enum dense_plane carrier;
	int      asks_for_nccl;             /* the workers are to find out            */
	int      gpus_sum;                  /* as far as can be told: dense gradients are there */
	size_t   n_workers, n_ps, n_threads, n_slots, n_hosts;   /* threads: of a worker */
	uint64_t staleness, min_shard_bytes;
	uint64_t embedding_params, dense_params, embedding_bytes, dense_bytes;
	double   embedding_share;           /* of the bytes with optimizer slots      */
	uint64_t bucket_bytes;              /* of dense gradients summed at a time; never 0 */
	size_t   n_buckets;
	struct dealer_policy policy;        /* how rows are dealt to workers           */
	char     why_mode[320], why_dense[PLACEMENT_WHY], why_buckets[160];
	struct placement_table *table;      /* [n_tables]                             */
	size_t   n_tables;
	struct placement_shard *shard;      /* [n_ps]                                 */
	struct parts parts;                 /* n == 0 without shards                  */
	double   balance;                   /* bytes of the largest shard / mean      */
	uint64_t table_bytes, spill_bytes;  /* of a worker's tables: in memory, on disk at most */
	const char *spill;                  /* the directory there                    */
	uint64_t worker_bytes, shard_bytes; /* of one process, the largest            */
	uint64_t memory_bytes;              /* of the host, 0: unknown                */
	double   rows_a_step, steps_a_second;   /* NaN: unknown                       */
	double   dense_step_bytes;          /* sent and received by a worker for dense sums */
	size_t   n_sampled;                 /* batches looked at                      */
};

/* shape: a model made without tables in memory (model_options.shape_only). */
enum rs_status placement_make(const struct model *shape, const struct placement_host *host,
	struct placement *out);
/* What was seen of the training data. */
struct placement_sample {
	const struct batch *batch;          /* [n] full ones, or the only one         */
	size_t   n;
	uint64_t rows, text_bytes;          /* of all files, decompressed; 0: unknown */
};
/* Counts the keys of the batches, as the workers would send them, and weighs the processes
 * by what rows these are. */
enum rs_status placement_measure(struct placement *p, const struct model *shape,
	const struct placement_sample *sample);
void placement_free(struct placement *p);
/* Lines for people; verbose: every table, not only the sums. */
enum rs_status placement_print(const struct placement *p, int verbose, struct buffer *out);
/* Members of an open object. */
void placement_json(const struct placement *p, struct json *out);
/* The host at hand; n_hosts 1. */
void placement_host_here(struct placement_host *out);
const char *placement_mode_name(enum placement_mode mode);
const char *placement_dense_name(enum dense_plane dense);

#endif
