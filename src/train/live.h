/*
 * States of a run after its last steps, in memory: what a round that follows a death goes on
 * from, when the tables can be had as they were then.
 *
 * A process keeps one over all rounds of a job.  While a round goes on it takes a copy of the
 * dense parameters with all that a version would have besides tables and catalogue, after
 * every step; when the round is over it keeps catalogue, frequencies and, where there are no
 * shards, the tables of the last step.  `depth` states, allocated with the first.  The main
 * thread's.
 */
#ifndef TRAIN_LIVE_H
#define TRAIN_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "train/checkpoint.h"
#include "train/frequency.h"
#include "train/metric.h"
#include "train/report.h"

#define LIVE_DEPTH_MAX 16

/* How far the run has come after a step; a later one is as good and more.  LIVE_RESTORES: the
 * best version is being loaded at the end of the run, into whatever tables. */
enum live_phase { LIVE_EPOCH_ENDS, LIVE_SAVES, LIVE_DONE, LIVE_RESTORES };

struct live_head {
	uint64_t tables;               /* which ones: of one start, see place.h       */
	uint32_t origin;               /* round in which they began                   */
	uint64_t clock;                /* steps of these, also those that were skipped */
	enum live_phase phase;
	int      ending;               /* enum ending of train_private.h              */
	uint64_t epoch;                /* from 1, of the step                         */
	struct checkpoint_progress progress;   /* as saved then                       */
	struct parser_tally carried;   /* rows of this run                            */
	struct parser_tally former;    /* and before: of the version that it began from */
	uint64_t former_epochs;
	uint64_t epoch_rows, epoch_dropped;
	uint64_t epoch_skipped_before; /* of a reader that has skipped none           */
	struct metric_result best_valid;
	int      best_is_known, best_is_saved, resumed;
	uint64_t rows_trained, rows_skipped, epochs_done;
	struct report report;          /* paused                                      */
	double   epoch_seconds, unsaved_seconds, rate;
	uint64_t frequency_rows;
	uint64_t P, n_marks, n_files;
};

struct live_state {
	int    is_used;
	struct live_head head;
	float *dense;                      /* [3,P] weights, m, v                     */
	struct dealer_mark *mark;          /* [n_marks]                               */
	struct parser_tally *tally;        /* [n_files] of the first epoch            */
};

struct live {
	size_t depth;
	struct live_state state[LIVE_DEPTH_MAX];
	int    is_whole;                   /* what follows is there when a round is over */
	struct buffer spec;                /* text                                    */
	struct catalogue *catalogue;       /* of the last round, or NULL              */
	struct frequency *frequency;
	struct file_writer *table;         /* [n_tables] files in memory, of table_clock:
	                                    * of every table, then of who waits for it */
	size_t n_tables;
	uint64_t table_clock;
	uint64_t recomputed;               /* steps that were done again              */
	uint64_t newest;                   /* step of the model that was done last    */
};

/* depth <= LIVE_DEPTH_MAX; larger is taken for that. */
enum rs_status live_open(size_t depth, struct live **out);
void live_close(struct live *l);
/* No state is of use any more. */
void live_forget(struct live *l);
/* Where the state with this head goes, which is copied: instead of that of the same clock, or
 * of the oldest. */
enum rs_status live_put(struct live *l, const struct live_head *head, struct live_state **out);
/* The state of the highest clock; NULL: none. */
struct live_state *live_newest(struct live *l);
struct live_state *live_find(struct live *l, uint64_t clock);
/* Steps after this one will be done again. */
void live_drop_after(struct live *l, uint64_t clock);
/* Catalogue, frequencies and tables, of which the model of a round has its own now. */
void live_let_go(struct live *l);

/* --- which one a round goes on from ---------------------------------------------- */

struct live_choice {
	size_t   holder;               /* the rank whose it is; SIZE_MAX: there is none */
	uint64_t clock;
	enum live_phase phase;
	uint64_t step, newest;         /* of the model: of it, and that anybody knows */
	uint64_t recomputed;           /* in the rounds before                        */
	char     why[200];             /* there is none                               */
};

/* The same in all ranks.  is_over: of rank 0, the run has its final version. */
enum rs_status live_choose(struct live *l, const struct train_place *place, int is_over,
	struct live_choice *out);

#endif
