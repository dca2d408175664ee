/*
 * Runs of several ranks in threads of a test, over a log of a few rows; each rank has its
 * own spec, and only rank 0 a model directory.
 */
#ifndef TESTS_TRAIN_PLACE_RUN_H
#define TESTS_TRAIN_PLACE_RUN_H

#include "place_hub.h"
#include "tests/test.h"
#include "train/live.h"
#include "train/train.h"

/* The last batch has fewer rows than slots. */
enum { N_TRAIN = 3 * 64 + 3, N_VALID = 600 };

struct job {
	size_t rank;
	const char *spec, *directory;
	const char *train, *valid;     /* instead of the spec's; NULL: that             */
	struct place_hub *hub;         /* NULL: no place                              */
	const char *from;              /* warm start                                  */
	int resume, threads, corrupts;
	struct live *live;             /* goes on from what lives on; NULL: no        */
	const char *policy;            /* cluster.policy; NULL: that of the spec      */
	struct gpu_memory *gpu;        /* NULL: on the host                           */
	/* Puts another exchange over that of the hub, of the run alone; NULL: none. */
	enum rs_status (*cover)(struct job *job, struct train_place *place);
	const char *tables, *device;   /* gpu.tables, placement.device; NULL: those of the spec */
	volatile int signal;
	/* Out. */
	enum rs_status status;
	struct rs_failure failure;
	struct train_summary summary;
	const char *lookup;            /* of the model that started                   */
	char why_host[256], why_tables[256];
	struct train_epoch epoch[16];  /* as told, by number                          */
};

extern char *place_run_top;            /* directory of the group                      */

int place_run_set_up(void **state);
int place_run_tear_down(void **state);
void place_run_rows(const char *name, size_t n, uint64_t key);
/* The text of a spec of that name. */
const char *place_run_spec(const char *name);
void place_run_directory(char out[300], const char *name, size_t n_ranks, enum hub_tables tables);
/* n jobs of this spec, the first with this directory. */
void place_run_begin(struct job *job, size_t n, const char *spec, const char *directory);
/* Runs them as the ranks of hub, or one without a place. */
void place_run_jobs(struct job *job, size_t n, struct place_hub *hub);
void place_run_free(struct job *job, size_t n);
/* Every file of the versions CURRENT names; with_manifest 0: but for MANIFEST. */
void place_run_assert_same(const char *a, const char *b, int with_manifest);

#endif
