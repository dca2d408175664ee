/*
 * The journal of a shard: what changed its rows, in files that outlive the process.
 *
 * Segments 1, 2, ... are files of records, each with its length and CRC32C.  A segment begins
 * with HEAD; PUSH is a message as it came, COMMIT t the application of all pushes of step t,
 * CUT that all pushes not applied are forgotten.  All rows of the shard are written between
 * other records, some at a time, each as it was after the COMMIT before it; END says that
 * they were all.  WAITING is what a segment of an exact table (embed/exact.h) has besides its
 * rows; where it depends on them, they are written with it, before another COMMIT.  So a
 * segment with END is all that is needed for any step from there on: its ROWS and WAITING
 * overwrite what was computed before they were known.  A segment knows nothing of pushes of
 * steps up to that of its HEAD, and has ROWS only after that step.
 *
 * The writer never fails: what cannot be written is said once, the files are removed and the
 * journal is off.  One thread, but for the disk, which a thread of its own waits for.
 */
#ifndef REMOTE_JOURNAL_H
#define REMOTE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/frame.h"

#define JOURNAL_RECORD_BYTES 48         /* of the head of a record; bodies fill up to 8     */
#define JOURNAL_BODY_MAX     ((uint64_t)128 << 20)

enum journal_type {
	JOURNAL_HEAD = 1, JOURNAL_PUSH, JOURNAL_COMMIT, JOURNAL_ROWS, JOURNAL_END, JOURNAL_CUT,
	JOURNAL_WAITING
};

struct journal_record {
	uint16_t type;
	uint8_t  flags;             /* PUSH: of the frame                                   */
	uint32_t slot, chunk;
	uint64_t step, bytes;       /* bytes: of the body                                   */
};

/* Body of HEAD: this, then that of INIT_TABLE. */
struct journal_head {
	uint64_t job;
	uint32_t shard;
	uint32_t is_pristine;       /* 1: rows that no ROWS has are as a table begins       */
};

/* A place in the files: in a segment. */
struct journal_place { uint64_t segment, offset; };

/* --- writing --------------------------------------------------------------------------- */

struct journal_options {
	const char *directory;      /* its own, made when missing; borrowed                 */
	uint64_t job;
	size_t   shard;
	int      durable;           /* the caller calls journal_sync(); else every 200 ms   */
	uint64_t growth;            /* of a segment, until the shard begins another; 0: as many
	                             * bytes as its rows have, but not less than 64 MiB     */
};

struct journal;
enum rs_status journal_open(const struct journal_options *options, struct journal **out);
/* The files stay. */
void journal_close(struct journal *j);

int journal_is_on(const struct journal *j);
/* There is a segment to append to. */
int journal_has_segment(const struct journal *j);
/* A new segment.  init [n] is the body of an INIT_TABLE; step: that of HEAD. */
void journal_begin(struct journal *j, uint64_t step, int is_pristine, const void *init, size_t n);
/* r->bytes is found from the parts. */
void journal_append(struct journal *j, const struct journal_record *r,
	const struct frame_part *part, size_t n_parts);
/* All rows are in the segment, as of this step. */
void journal_end(struct journal *j, uint64_t step);
/* Steps below are no longer wanted: removes the segments that are only good for those. */
void journal_forget(struct journal *j, uint64_t step);
/* Removes everything. */
void journal_reset(struct journal *j);
/* All that was appended is on the disk. */
void journal_sync(struct journal *j);
/* The lowest step that the files are good for; UINT64_MAX: they are good for nothing. */
uint64_t journal_lowest(const struct journal *j);
/* There is a former segment with END, that journal_forget() has not removed yet. */
int journal_has_two(const struct journal *j);
/* Of the segment, since its END if it has one. */
uint64_t journal_growth(const struct journal *j);
/* The first segment there is, and where the next record will be; segment 0: nowhere. */
uint64_t journal_first(const struct journal *j);
struct journal_place journal_at(const struct journal *j);
/* Files were put there by somebody else. */
void journal_look_again(struct journal *j);

/* --- reading ----------------------------------------------------------------------------- */

#define JOURNAL_STARTS_MAX 8

/* What the files are good for: any step in [start[0].step, applied]. */
struct journal_range {
	uint64_t tables;            /* body_init_hash() of the INIT_TABLE                   */
	uint64_t applied;
	struct { uint64_t segment, step; } start[JOURNAL_STARTS_MAX];
	size_t   n_starts;          /* 0: for nothing                                       */
};

/* Looks at all of it; what is damaged or somebody else's is left out and never fails. */
enum rs_status journal_read_range(const struct journal_options *options,
	struct journal_range *out);

struct journal_visitor {
	/* In order: HEAD once, ROWS, WAITING, PUSH of steps that are not applied yet, COMMIT of
	 * the next step, CUT; body: of r->bytes, aligned to 8, borrowed until
	 * journal_read_replay() returns. */
	enum rs_status (*visit)(void *context, const struct journal_record *r,
		const uint8_t *body);
	void *context;
};

/* All that leads to the state after this step, which is in the range; *end: where it is
 * complete. */
enum rs_status journal_read_replay(const struct journal_options *options,
	const struct journal_range *range, uint64_t step, const struct journal_visitor *visitor,
	struct journal_place *end);

/* The writer goes on after what was replayed; the rest is removed. */
void journal_resume(struct journal *j, const struct journal_range *range, uint64_t step,
	const struct journal_place *end);

#endif
