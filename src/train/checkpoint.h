/*
 * Model versions: DIR/v000001/... complete or absent (DESIGN of the directory in
 * recsys-train(1), FILES).
 *
 * checkpoint_save() writes spec.ini, dense.bin, table files and, last, MANIFEST,
 * each atomically, the version under a temporary directory name that is renamed;
 * then CURRENT.  checkpoint_load() verifies every CRC before touching the model
 * and falls back to the former complete version with a warning.  The directory
 * is locked by flock for writers.  MANIFEST alone owns the position in the data.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/loader.h"
#include "train/dealer.h"
#include "train/ledger.h"
#include "train/model.h"

struct trial;

enum checkpoint_state { CHECKPOINT_TRAINING, CHECKPOINT_FINAL };

/* Everything besides weights that a resumed run needs. */
struct checkpoint_progress {
	enum checkpoint_state state;
	uint64_t step;
	struct loader_position position;
	double   best;                 /* monitored figure of the best epoch, NaN none */
	uint64_t best_epoch;           /* from 1, 0 none                              */
	uint64_t best_version;         /* CHECKPOINT_ITSELF: the version being saved  */
	uint64_t stale_epochs;
	double   rate_factor;
	uint64_t plateau_stale;
	uint64_t skipped_steps, skipped_in_a_row;
	uint64_t schedule_start;       /* step at which the schedule counts from 0    */
	uint64_t seed;
	struct parser_tally tally;     /* of the rows trained so far, all epochs      */
	/* What is only written; NULL none, as after reading. */
	const struct dealer *dealer;       /* its counts of files and marks           */
	const struct ledger *ledger;
	const struct trial *trial;
	const char *rest;              /* path of a file that becomes CHECKPOINT_REST */
};

#define CHECKPOINT_ITSELF UINT64_MAX
/* As a version: the directory is one itself, whatever its name. */
#define CHECKPOINT_HERE UINT64_MAX
/* Behind the name of a version that must not become current. */
#define CHECKPOINT_REJECTED ".rejected"

/* The catalogue of a version that has one. */
#define CHECKPOINT_ITEMS "items.bin"

/* What compressed pushes held back (train/rest.h). */
#define CHECKPOINT_REST "rest.bin"

/* What was counted in each input file in the first epoch: lines "read skipped zero_weight
 * blank" in the order of files. */
#define CHECKPOINT_INPUTS "inputs.txt"

/* Where each worker was in its files when they are dealt by file: lines "epoch window row
 * rows identity ended" in the order of workers. */
#define CHECKPOINT_POSITIONS "positions.txt"

struct checkpoint_lock {
	int    fd;
	char  *made;                   /* the directory, owned; NULL: LOCK was there  */
	size_t n_made;                 /* directories that were not, it is the last   */
};

/* RS_EBUSY when another process holds it for longer than wait seconds.  Who gets it and ends
 * without a version leaves neither LOCK nor directories that were not there.  RS_EIO: the file
 * system locks none, or gives LOCK another inode number each time. */
enum rs_status checkpoint_lock(const char *directory, double wait, struct checkpoint_lock *out);
void checkpoint_unlock(struct checkpoint_lock *lock);
/* Who holds a lock that could not be had: *pid, 0 when it does not say, and since when, at
 * most; a wall clock that was set back does not make it longer. */
void checkpoint_holder(const char *directory, int64_t *pid, double *seconds);

/* With train.full_every N > 1 a whole version is followed by N - 1 deltas, whose tables are
 * what changed since the version that the model was loaded from or last saved as, if that is
 * still in the directory.  Until a version is complete nothing is forgotten: one that failed
 * is in the next.  *version and *bytes (may be NULL) describe what was written. */
enum rs_status checkpoint_save(const char *directory, struct model *m,
	const struct checkpoint_progress *progress, int make_current, uint64_t *version,
		uint64_t *bytes);
/* What scoring needs of a model that is not for training, as a version in a directory of its
 * own, which is not there yet; vectors of tables in some storage, which is fp32 from here
 * on as the model's spec has it.  *bytes: what it takes. */
enum rs_status checkpoint_pack(struct model *m, uint64_t version, enum row_storage storage,
	const char *directory, uint64_t *bytes);
/* version 0: the one CURRENT names, else the newest complete one. */
enum rs_status checkpoint_load(const char *directory, uint64_t version,
	const struct model_options *options, struct model **out,
	struct checkpoint_progress *progress, uint64_t *loaded);
/* Fills a model made from another spec: every parameter and table of it must be
 * in the version with the same shape (RS_ESPEC names the first that is not). */
enum checkpoint_fill {
	CHECKPOINT_STATE = 1,          /* else the optimizers are left at their start  */
	/* The spec may have other fields: tables and parameters of new ones are left as they
	 * are, layers take on and lose their columns (train/dense_adopt.h). */
	CHECKPOINT_OTHER_FIELDS = 2
};
/* how: bits.  A catalogue the model has stays. */
enum rs_status checkpoint_fill(const char *directory, uint64_t version, unsigned how,
	struct model *m, struct checkpoint_progress *progress);
/* Verifies a version and reads its MANIFEST; version 0 as in checkpoint_load(). */
enum rs_status checkpoint_peek(const char *directory, uint64_t version,
	struct checkpoint_progress *progress, uint64_t *found);
/* The path of a file of a version that was checked, which the caller frees; NULL: it has none
 * of that name. */
enum rs_status checkpoint_find(
	const char *directory, uint64_t version, const char *name, char **path);
/* The spec a version was trained with; version as checkpoint_peek() gave it. */
enum rs_status checkpoint_spec(const char *directory, uint64_t version, struct spec **out);
/* Counts and positions of a version that was checked, as far as it has them; also after a
 * failure the caller frees the arrays. */
enum rs_status checkpoint_inputs(
	const char *directory, uint64_t version, struct dealer_past *out);
/* 1: the directory is a version itself, and complete: it is renamed to its name after its MANIFEST
 * is written. */
int checkpoint_is_version(const char *directory);
/* "DIRECTORY/v000012"; caller frees. */
enum rs_status checkpoint_version_path(const char *directory, uint64_t version, char **out);
/* What CURRENT names; 0 when there is none or it says nothing.  RS_EDENIED: this user may not read
 * it; RS_ERESOURCE: there is no memory to. */
enum rs_status checkpoint_read_current(const char *directory, uint64_t *version);
/* The same; 0 when it cannot be read, too. */
uint64_t checkpoint_current(const char *directory);
/* What made opening a version fail is damage, so that another one is looked at: not when this
 * user may not read it, nor when there is no memory. */
int checkpoint_is_damage(enum rs_status status);
enum rs_status checkpoint_set_current(const char *directory, uint64_t version);
/* Removes all but the newest `keep` complete versions, CURRENT, the listed ones, and what
 * these are deltas of; and what dead writers left behind. */
enum rs_status checkpoint_prune(const char *directory, size_t keep, const uint64_t *also,
	size_t n_also);
/* 1: the newest version whose MANIFEST can be read is the last of its run.  Its other files
 * are not looked at. */
int checkpoint_is_final(const char *directory);
/* Of any state; not there is no failure.  A version is gone at once or not at all. */
enum rs_status checkpoint_remove(const char *directory, uint64_t version);
/* Tables of fields that the spec no longer has stay in the versions: a model that goes on
 * from one takes them along, they are saved with it as they are, and a field that comes back
 * finds its rows. */
enum rs_status checkpoint_keep_unused(const char *directory, uint64_t version, struct model *m);
/* Names of these files in a version; the caller frees items and array. */
enum rs_status checkpoint_unused(const char *directory, uint64_t version, struct text_list *file);
/* Takes them out of a version, which stays complete at every moment; *bytes: how many. */
enum rs_status checkpoint_drop_unused(const char *directory, uint64_t version, uint64_t *bytes);
/* Makes a delta whole, where it is: what was a delta of it still is.  It is complete at every
 * moment.  *changed (may be NULL) 0: it was whole. */
enum rs_status checkpoint_compact(const char *directory, uint64_t version, int *changed);
/* Complete versions, ascending; caller frees. */
enum rs_status checkpoint_list(const char *directory, uint64_t **version, size_t *n);
/* The same for v000012.rejected, see train/publish.h. */
enum rs_status checkpoint_rejected(const char *directory, uint64_t **version, size_t *n);
enum rs_status checkpoint_rejected_path(const char *directory, uint64_t version, char **out);

#endif
