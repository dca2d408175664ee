/*
 * A folder of files, a spec, a ledger and a clock, for the tests of intake.
 *
 * A scan's periods are "trained" by reading their names as the loader would: lines are kept
 * in `trained`, in order, entries get their hash and counts, the mark moves.
 */
#ifndef TESTS_TRAIN_INTAKE_CASE_H
#define TESTS_TRAIN_INTAKE_CASE_H

#include "spec/spec.h"
#include "train/intake.h"

#define CASE_BEGIN INT64_C(1764424800)         /* 2025-11-29T14:00:00Z                */

struct lines {
	char **item;               /* [n]                                             */
	size_t n;
};

struct intake_case {
	char   directory[64];
	struct spec *spec;
	struct ledger ledger;
	int64_t now, since, until;
	size_t  most;
	struct intake *intake;     /* of the last scan                                */
	struct lines trained, held;
};

int  case_set_up(void **state);                /* struct intake_case                  */
int  case_tear_down(void **state);
/* Lines of [data] and [incremental] besides the usual. */
void case_spec(struct intake_case *c, const char *data, const char *incremental);

/* Files of the folder; modified: seconds since 1970. */
char *case_path(const struct intake_case *c, const char *name);        /* static memory       */
void case_write(struct intake_case *c, const char *name, const char *text, int64_t modified);
void case_append(struct intake_case *c, const char *name, const char *text, int64_t modified);
void case_touch(struct intake_case *c, const char *name, int64_t modified);
void case_rename(struct intake_case *c, const char *from, const char *to);
void case_remove(struct intake_case *c, const char *name);
/* "TIME\t1\tID\n", one a time, ids rising from `first`. */
const char *case_rows(int64_t first_id, size_t n, const int64_t *time);

/* The same at minutes after CASE_BEGIN. */
const char *case_minutes(int64_t first_id, size_t n, const int *minute);
#define CASE_ROWS(first, ...) case_minutes(first, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
	(int[]){ __VA_ARGS__ })
/* A spec whose column 1 is the time. */
void case_by_rows(struct intake_case *c, const char *data, const char *incremental);

enum rs_status case_scan(struct intake_case *c);
/* Scans, which must succeed, and trains all that is due; the number of periods. */
size_t case_train(struct intake_case *c);
/* The same for the periods of a scan that was made. */
void case_accept(struct intake_case *c);
/* Is the text in the notice of a use? */
int  case_told(const struct intake_case *c, enum ledger_use use, const char *text);
size_t case_uses(const struct intake_case *c, enum ledger_use use);    /* entries of ledger   */
int  case_has(const struct lines *lines, const char *line);           /* how many times       */
/* How many times the row of case_minutes() was trained. */
int  case_trained(const struct intake_case *c, int minute, int id);
void case_read(const char *name, struct lines *out);

#endif
