/*
 * The run database: SQLite, WAL, application_id, user_version; schema in
 * share/schema.sql (compiled in).
 *
 * One writer at a time, waits up to busy_ms; 32 processes may open a fresh file at
 * once (one migrates under the lock).  A run is "running" with pid, boot id and
 * start time; readers compute "lost" when that process is gone.  NaN is NULL with
 * a text flag.  A database of a newer version is refused (RS_EPROTOCOL).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

struct store;

enum rs_status store_open(const char *path, int read_only, int busy_ms, struct store **out);
void store_close(struct store *s);

struct store_run_start {
	const char *model, *directory, *spec_path, *spec_text, *command_line, *version, *tag, *note;
	int64_t seed, threads;
};

/* *run becomes 1, 2, ...; printed as r0001. */
enum rs_status store_run_begin(struct store *s, const struct store_run_start *start, int64_t *run);
/* status: ok partial diverged failed interrupted rejected */
enum rs_status store_run_end(struct store *s, int64_t run, const char *status, int64_t rows, const char *message);
enum rs_status store_param(struct store *s, int64_t run, const char *key, const char *value);
/* epoch 0: not of an epoch. */
enum rs_status store_metric(struct store *s, int64_t run, const char *key, int64_t epoch, int64_t step, int64_t rows, double value);
enum rs_status store_warning(struct store *s, int64_t run, const char *text);
enum rs_status store_placement(struct store *s, int64_t run, const char *mode, const char *lookup,
	const char *reducer, const char *kernel, const char *reason);
enum rs_status store_artifact(struct store *s, int64_t run, const char *kind, const char *path, int64_t bytes);

struct store_ledger {
	const char *file;
	uint64_t content_hash, begin, end;             /* byte range, decompressed    */
	int64_t rows_read, rows_trained, rows_skipped, attempt;
};
enum rs_status store_ledger(struct store *s, int64_t run, const struct store_ledger *row);

#endif
