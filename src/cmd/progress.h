/*
 * How a training run shows itself: the table on a terminal, what is around its rows
 * with -v elsewhere, key=value blocks or JSON lines for programs.  Everything goes to
 * the given stream except the JSON lines of --json, which are results.  One thread at
 * a time.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "base/status.h"
#include "cmd/command.h"
#include "train/train.h"

/* TEXT: the table without its rows. */
enum progress_form {
	PROGRESS_NONE, PROGRESS_TABLE, PROGRESS_TEXT, PROGRESS_KV, PROGRESS_JSON
};

struct progress {
	enum progress_form form;
	int    fd;                     /* of kv and json; the table goes to 2         */
	double step;
	int    multiplies;
	int    json;                   /* --json: lines on stdout as well             */
	int    header_done;
	char   run[24];                /* "r0001"                                     */
	const char *monitor;
};

/* From -P, --progress-fd, --json, -q, -v; RS_EUSAGE names what is wrong. */
enum rs_status progress_init(struct progress *p, const struct arguments *a);
/* Lines for people are printed; rows are shown to anyone. */
int progress_is_text(const struct progress *p);
int progress_has_rows(const struct progress *p);

struct progress_start {
	const char *model, *why_threads;
	const char *device, *why_device;   /* "cpu" or what else; may be NULL          */
	const char *tables, *why_tables;   /* "host" or "gpu"; "": there is no GPU      */
	int64_t seed, threads;
};
void progress_start(struct progress *p, const struct progress_start *start);
void progress_row(struct progress *p, const struct train_progress *row);
void progress_epoch(struct progress *p, const struct train_epoch *e);
void progress_saved(struct progress *p, const char *directory, uint64_t version, uint64_t bytes);
/* A period's rows before they are trained; and what the gate said of the model after. */
void progress_scored(struct progress *p, const char *period, const struct metric_result *m);
void progress_gate(struct progress *p, int is_accepted, const char *verdict);
void progress_warning(struct progress *p, const char *text);

struct progress_end {
	const char *status, *directory;
	const struct train_summary *summary;
};
/* The last line; with --json the summary on stdout. */
enum rs_status progress_end(struct progress *p, const struct progress_end *end);

#endif
