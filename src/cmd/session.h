/*
 * A training run as it is shown and recorded: by train, and by worker 0 of a run of many
 * processes.
 *
 * session_init() first, session_free() last; between them a session has spec, directory,
 * progress and record of one run.  Its callbacks may warn, and warnings of any thread come
 * in, one at a time.
 */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "cmd/record.h"
#include "place/placement.h"
#include "train/gate.h"
#include "train/train.h"

#define SESSION_CONDITIONS 32

struct tensorboard;
struct nccl_calls;

struct session {
	const struct arguments *a;
	const char *directory;
	char       *own_directory;         /* of directory, when it came from the spec */
	const char *why_threads;
	struct gpu_memory gpu;              /* gpu.gpu NULL: the CPU trains              */
	const char *why_device;             /* the GPU's name, or why none; NULL: no need */
	int64_t     threads;
	struct record_placement placement; /* recorded at the start; mode NULL: it is already */
	struct progress progress;
	char        period[24];            /* its begin, of a run over one            */
	void (*on_row)(void *context, const struct train_progress *p);  /* or NULL     */
	void  *context;
	struct record  *record;            /* NULL: none                               */
	struct tensorboard *board;         /* NULL: none; cmd/session_board.h          */
	int64_t board_step;                /* that it began with                       */
	struct gate_condition condition[SESSION_CONDITIONS];   /* of --require         */
	size_t n_conditions;
	/* Callbacks of the main thread and warnings of any thread; recursive, as a
	 * callback may warn. */
	pthread_mutex_t lock;
};

enum rs_status session_init(struct session *s, const struct arguments *a);
void session_free(struct session *s);

/* The spec with the overrides of SESSION_OPTIONS. */
enum rs_status session_spec(const struct arguments *a, struct spec **out);
/* 1: the option stands for a key of the spec. */
int session_is_key_option(const char *option);
/* -f, else model.path. */
enum rs_status session_directory(struct session *s, const struct settings *settings);
/* What placement.device, gpu.devices, train.precision and train.products ask for; *why: the name
 * of the first GPU and which there are, or why there is none, where one could be thought of, else
 * NULL.  RS_EPEER: it cannot be had; RS_ESPEC: the precision or the products cannot, or gpu.tables
 * with the CPU. */
enum rs_status session_device(const struct settings *settings, struct gpu_memory *gpu,
	const char **why);
/* The share of the i-th of the n workers of this host, and *why of it. */
void session_share_devices(struct gpu_memory *gpu, size_t i, size_t n, const char **why);
/* What the planner has to know of session_device()'s, and of NCCL. */
void session_tell_gpus(const struct gpu_memory *gpu, const char *why_device,
	struct placement_host *host);
/* Finds NCCL for workers that compute there; NULL with the reason, static text, when it cannot be
 * used. */
const struct nccl_calls *session_nccl(const struct gpu_memory *gpu, const char *why_device,
	const char **why_not);
/* "gpu" or "host": where the tables of a model that trains are. */
const char *session_tables_name(const struct model *m);
/* "cuda" or "cpu" */
const char *session_device_name(const struct gpu_memory *gpu);
/* A directory with versions is only added to when the caller says how. */
enum rs_status session_check_directory(const struct session *s);
enum rs_status session_options(struct session *s, struct train_options *out);

enum rs_status session_record_begin(struct session *s, const struct spec *spec);
/* The record of a run that somebody else began. */
enum rs_status session_record_attach(struct session *s, const struct spec *spec, int64_t run);

/* Of a run of many processes. */
void session_record_placement(struct session *s, const struct placement *p);

/* Warnings go into progress and record from now on, until session_end(). */
void session_watch(struct session *s);
/* What train_run() returned is shown and recorded; frees the summary.  Returns what the
 * command is to end with. */
enum rs_status session_end(struct session *s, enum rs_status status,
	struct train_summary *summary);

/* Options of whatever trains. */
#define SESSION_OPTIONS \
	{ .name = "--data", \
		.letter = 'd', \
		.argument = "DATA", \
		.repeats = 1, \
		.text = "Training file or pattern instead of data.train." }, \
	{ .name = "--valid", \
		.argument = "DATA", \
		.repeats = 1, \
		.text = "Validation file or pattern instead of data.valid." }, \
	{ .name = "--data-command", \
		.argument = "COMMAND", \
		.text = "Read the training rows from the output of a shell command and check " \
			"its exit status." }, \
	{ .name = "--initial", \
		.letter = 'i', \
		.argument = "MODEL", \
		.text = "Start from the weights, optimizer state and step count of a model." }, \
	{ .name = "--final", \
		.letter = 'f', \
		.argument = "MODEL", \
		.text = "Model directory to write instead of model.path." }, \
	{ .name = "--reset-optimizer", .text = "With -i, start the optimizers anew." }, \
	{ .name = "--reset-steps", .text = "With -i, start the learning rate schedule anew." }, \
	{ .name = "--allow-new-fields", \
		.text = "Fields of the spec that the model gone on from lacks start fresh." }, \
	{ .name = "--resume", .text = "Go on with the unfinished run in the model directory." }, \
	{ .name = "--fresh", \
		.text = "Train from scratch and add the result to the model directory." }, \
	{ .name = "--epochs", \
		.argument = "N", \
		.text = "Passes over the data instead of train.epochs." }, \
	{ .name = "--seed", \
		.argument = "N", \
		.text = "Seed of every random stream instead of train.seed." }, \
	{ .name = "--time-limit", \
		.argument = "TIME", \
		.text = "Stop after this time, for instance 50m, and keep what was learned." }, \
	{ .name = "--expect-rows", \
		.argument = "N", \
		.text = "Fail unless the training data have exactly this many rows." }, \
	{ .name = "--require", \
		.argument = "CONDITION", \
		.repeats = 1, \
		.text = "What the result must meet to become the current model, for instance " \
			"auc>=0.75 or auc>=last-0.005; with --incremental instead of " \
			"incremental.require." }, \
	{ .name = "--rebuild-cache", \
		.text = "Make the parsed rows in data.cache anew, whatever is there; else they " \
			"are used as long as they are of the text." }, \
	{ .name = "--ok-partial", .text = "Exit with 0 although rows were skipped." }, \
	{ .name = "--workers", \
		.argument = "N", \
		.text = "Worker processes instead of cluster.workers." }, \
	{ .name = "--ps", \
		.argument = "N", \
		.text = "Parameter server shards instead of cluster.ps." }, \
	{ .name = "--tag", .argument = "TAG", .text = "Tag of the run in the run database." }, \
	{ .name = "--note", .argument = "TEXT", .text = "Note of the run in the run database." },

#endif
