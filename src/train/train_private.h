/* Inside of a run; for train.c and train_*.c only. */
#ifndef TRAIN_TRAIN_PRIVATE_H
#define TRAIN_TRAIN_PRIVATE_H

#include "data/sampler.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/dealer.h"
#include "train/live.h"
#include "train/monitor.h"
#include "train/report.h"
#include "train/start.h"
#include "train/train.h"
#include "train/workers.h"

enum ending { ENDING_NONE, ENDING_ROWS, ENDING_EARLY, ENDING_TIME, ENDING_SIGNAL };

struct training {
	const struct train_options *options;
	const struct settings      *settings;      /* of the model's spec             */
	struct train_summary       *summary;
	struct monitor              monitor;
	struct model_options        model_options;
	struct checkpoint_lock      lock;
	struct start                start;
	struct model               *m;             /* owned                           */
	struct dealer              *dealer;
	struct sampler             *sampler;       /* NULL: no items are drawn        */
	struct workers             *workers;
	struct evaluation          *evaluation;    /* of data.valid                   */
	struct report               report;
	struct checkpoint_progress  progress;
	struct parser_tally         former;        /* of the runs this one goes on with */
	struct parser_tally         carried;       /* of this run, in rounds before   */
	uint64_t clock;                            /* steps of the tables             */
	uint32_t origin;                           /* round in which they began       */
	int      keeps_live;                       /* states are taken                */
	uint64_t total_steps;
	double   started, epoch_started, saved_at;
	uint64_t epoch_rows, epoch_dropped, epoch_skipped_before;
	uint64_t n_later;                          /* of struct step_result           */
	struct metric_result best_valid;
	int      best_is_known;                    /* best_valid is of best_version   */
	int      best_is_saved;                    /* the weights are not the best    */
	double   rate;
	unsigned votes;                            /* of all ranks, of the last step  */
	int      by_file;                          /* rows are dealt by file          */
	int      signal;                           /* that ended the run              */
	struct ledger ledger;                      /* of the weights it began with; rank 0 */
	int      files_are_counted;                /* in that of the last version     */
	struct train_gate {
		struct trial *trial;               /* NULL: nothing is required       */
		char    *history;                  /* figures.txt of the current version */
		uint64_t current;                  /* its number; both rank 0's       */
	} gate;
};

/* A version must not tell how many threads, processes and hosts made it. */
enum rs_status train_forget_places(struct spec *spec);
enum rs_status train_check_place(const struct settings *s, const struct train_place *place);
/* More threads than slots of this process would only wait. */
size_t train_count_threads(const struct settings *s, const struct train_place *place);
/* Of a model that nothing trained yet: on the CPU, with a warning, when the GPU cannot be opened
 * and placement.device lets it. */
enum rs_status train_open_workers(struct training *t);

/* The rows of the run: of the period if it is of one. */
const struct text_list *train_files(const struct training *t);
const char *train_command(const struct training *t);   /* NULL: there is none     */
uint64_t train_epochs(const struct training *t);
enum loader_cache train_cache(const struct training *t);
/* The trial of a period or of what is required, if there is one. */
enum rs_status train_trial_before(struct training *t);
enum rs_status train_trial_after(struct training *t);
/* What the weights that the run goes on from were trained on. */
enum rs_status train_read_ledger(struct training *t);
/* What was read of each file enters the ledger, once, while the dealer is open. */
enum rs_status train_count_files(struct training *t);
/* The ledger that a version is to have; *out is borrowed, NULL: none. */
enum rs_status train_make_ledger(struct training *t, enum checkpoint_state state,
	const struct ledger **out);

/* Where the run is, into t->progress. */
void train_take_position(struct training *t);
/* All ranks have come to the same step with the same data and parameters, and what they
 * pushed has arrived: rows may be read for evaluation and versions. */
enum rs_status train_meet(struct training *t);
/* A version of the model as it is: written by rank 0, known to all. */
enum rs_status train_save(struct training *t, enum checkpoint_state state, uint64_t *version);
/* The weights of the best epoch come back, with their optimizer state; the dealer ends. */
enum rs_status train_restore_best(struct training *t, enum ending ending);
/* What came and went in exact tables so far, to the log and the summary. */
void train_count_tenants(struct training *t);

/* --- train_gate.c: nothing without options.condition, or of a period --- */

/* Rank 0, which has locked the directory. */
enum rs_status train_gate_enter(struct training *t);
/* Before there is a model: the current one is scored.  Frees the spec on failure. */
enum rs_status train_gate_open(struct training *t, struct spec *spec);
/* The final version becomes current, or RS_EUNMET. */
enum rs_status train_gate_judge(struct training *t);
void train_gate_close(struct training *t);

/* --- train_live.c: states that outlive the round; nothing without options.live --- */

/* Takes over what the state that lived on has besides the model. */
void train_live_go_on(struct training *t);
/* All is open: from now on states are taken. */
enum rs_status train_live_begin(struct training *t);
/* Before the step of a batch, and after it. */
enum rs_status train_live_prepare(struct training *t);
enum rs_status train_live_take(struct training *t, const struct batch *batch);
/* How far the end of the epoch has come since. */
void train_live_settle(struct training *t, enum live_phase phase, enum ending ending);
/* The round is over; before the model goes. */
void train_live_end(struct training *t, enum rs_status status);

/* --- train_input.c --- */

/* The rows, where the run begins or goes on. */
enum rs_status train_open_dealer(struct training *t);
/* The loader parses ahead for the schema of the model, so it ends before the
 * model does; the summary keeps its counts. */
enum rs_status train_close_dealer(struct training *t);
/* After the loader, whose thread draws. */
void train_close_sampler(struct training *t);

#endif
