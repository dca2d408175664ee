/*
 * The training loop: epochs, evaluation, early stop, schedule, checkpoints,
 * signals, time limit.  It reports through callbacks and knows no database.
 * With a place of several ranks train_run() is called in each with the same spec and data;
 * only rank 0 looks at the model directory.
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/loader.h"
#include "spec/spec.h"
#include "train/ledger.h"
#include "train/metric.h"
#include "train/model.h"
#include "train/place.h"

struct live;

struct gate_condition;
struct trial;

struct train_progress {            /* one row of the progress table               */
	uint64_t epoch, rows, total_rows;     /* rows of this run; total 0 = unknown  */
	uint64_t step;                 /* lifetime                                    */
	double loss, loss_since_last, label_mean, prediction_mean;
	double learning_rate, rows_per_s, wait_share, eta_s;
};

struct train_epoch {
	uint64_t epoch, epochs, rows, skipped, step;
	double   loss, seconds, learning_rate, label_mean;
	int      has_valid, is_best;
	double   best;                 /* monitored figure so far                     */
	struct metric_result valid;
};

struct train_callbacks {           /* any may be NULL; called by the main thread  */
	void (*started)(void *context, const struct model *m, uint64_t total_rows);
	void (*progress)(void *context, const struct train_progress *p);
	void (*epoch)(void *context, const struct train_epoch *e);
	void (*saved)(void *context, const char *directory, uint64_t version, uint64_t bytes);
	/* The rows of the period, before they are trained. */
	void (*scored)(void *context, const struct metric_result *m);
	/* What was required was, or was not, met. */
	void (*judged)(void *context, int is_accepted, const char *verdict);
	void *context;
};

/* A run over a period of the data instead of data.train: its rows come in epochs of their
 * own, the version it ends with is a candidate that does not become current, and none is
 * saved before that, so a run that was stopped begins anew. */
struct train_period {
	const struct text_list *files;     /* names for the loader, data/range.h      */
	uint64_t epochs;
	/* ledger.txt to be of the candidate.  Entry first + i is of file i and gets its
	 * counts and hash. */
	struct ledger *ledger;
	size_t   first;
	struct trial *trial;               /* scored before and after; NULL: none     */
};

struct train_options {
	const char *directory;         /* model directory                             */
	const char *from;              /* warm start directory or NULL                */
	int    reset_optimizer, reset_steps;
	int    rebuild_cache;          /* files of data.cache are made anew           */
	int    allow_new_fields;       /* of the spec, that the model gone on from lacks */
	int    resume;                 /* go on with an unfinished run in directory   */
	int    continues;              /* and the run is this one: if it is finished already,
	                                * evaluate what it left for the summary       */
	double progress_step;          /* rows between progress rows; 0 none          */
	int    progress_multiplies;    /* step is a factor: 2 gives 1, 2, 4, 8        */
	double elapsed;                /* seconds that the run took so far            */
	uint64_t expect_rows;          /* data rows in the first epoch; 0 any         */
	double lock_wait;
	const struct train_period *period;     /* borrowed; NULL: all of data.train   */
	/* What the result must meet on data.valid to become current, else RS_EUNMET; "last" is
	 * the version that is current before.  Not of a period. */
	const struct gate_condition *condition;        /* [n_conditions] borrowed     */
	size_t n_conditions;
	const char *kernel;
	struct gpu_memory *gpu;        /* borrowed: what trains the dense network; NULL: the host */
	volatile int *stop_signal;     /* set by a handler; checked every batch; also set
	                                * when another rank's ended the run           */
	struct live *live;             /* borrowed: what outlives a round that a death of
	                                * another process ends; NULL: nothing does    */
	const struct train_place *place;   /* borrowed; NULL: all in this process     */
	struct train_callbacks callbacks;
};

struct train_summary {
	uint64_t rows_read, rows_trained, rows_skipped, rows_zero_weight;
	uint64_t epochs_done, best_epoch, step, skipped_steps;
	double   seconds, loss;
	int      has_valid;
	struct metric_result valid;    /* of the weights that were kept               */
	uint64_t version;              /* 0: nothing saved                            */
	size_t   n_exact;              /* exact tables                                */
	struct lookup_tenants tenants; /* of all of them, in this run                 */
	uint64_t recomputed_steps;     /* because processes died                      */
	/* Of the version that it went on from. */
	struct parser_tally former;
	uint64_t former_epochs;
	int      already_finished;     /* resume found nothing to do                  */
	int      stopped_early, out_of_time;
	const struct loader_file *file;   /* [n_files] ledger, owned by the summary   */
	size_t   n_files;
};

/* Takes the spec, whose [placement], [cluster], keys of threads and those of [gpu] that a resumed
 * run may change are no part of what is saved.  RS_EDIVERGED, RS_ESIGNAL, RS_EPARTIAL are ends
 * with a filled summary; free it with train_summary_free in every case. */
enum rs_status train_run(struct spec *spec, const struct train_options *options,
	struct train_summary *out);
void train_summary_free(struct train_summary *s);

#endif
