/*
 * What the files of a byte source share: one open input, its read buffer, the
 * state of inflate and the child process of a command.  Used by source*.c only.
 */
#ifndef DATA_SOURCE_PRIVATE_H
#define DATA_SOURCE_PRIVATE_H

#include <stdatomic.h>
#include <sys/types.h>
#include <zlib.h>

#include "data/range.h"
#include "data/source.h"

#define SOURCE_BUFFER  ((size_t)128 << 10)
#define SOURCE_WINDOW  ((size_t)32 << 10)
#define SOURCE_POLL_MS 50          /* the stop flag is looked at so often             */

enum source_kind { SOURCE_FILE, SOURCE_PIPE, SOURCE_COMMAND };

/* Where the gzip reader stands. */
enum source_gzip_state {
	GZIP_MEMBER,               /* a member, padding or the end comes next         */
	GZIP_BODY,                 /* inside a member                                 */
	GZIP_TRAILER,              /* after a raw member: CRC and length to step over */
	GZIP_PADDING, GZIP_END
};

/* Ranges of the file are read one after the other. */
struct source_view {
	struct range_list ranges;
	size_t   at;               /* the one that is being read                      */
	int      lines;            /* begins and ends of ranges must be those of lines */
	char     last;             /* the byte given last                             */
};

struct source {
	char    *name;             /* for messages, ranges included                   */
	char    *path;             /* NULL: not a file                                */
	enum source_kind kind;
	int      fd;
	pid_t    pid;              /* command, 0 once reaped                          */
	const atomic_int *stop;    /* set: give up waiting                            */
	void   (*idle)(void *context);     /* NULL, or called while waiting           */
	void    *idle_context;

	unsigned char *in;         /* [SOURCE_BUFFER] bytes of the file               */
	size_t   in_n, in_at;
	uint64_t in_offset;        /* file offset after in[in_n-1]                    */
	int      begun, at_end;

	int      gzip;
	z_stream z;
	enum source_gzip_state gzip_state;
	int      raw;              /* this member was entered at an access point      */
	unsigned trailer_left;
	uint64_t offset;           /* decompressed bytes given or stepped over        */
	struct source_index *collect;
	struct source_view *view;  /* NULL: the whole file                            */

	/* What is above is of the thread that reads ahead, once there is one. */
	int      wants_ahead;
	struct source_ahead *ahead;        /* NULL: the reader reads itself           */
	atomic_int ahead_stop;
};

/* Refills an empty buffer; in_n == 0 afterwards is the end of the file. */
enum rs_status source_fill(struct source *s);
/* RS_ESIGNAL when the stop flag is set. */
enum rs_status source_check_stop(const struct source *s);
/* read(2) that waits with an eye on the stop flag. */
enum rs_status source_read_fd(struct source *s, void *bytes, size_t n, size_t *got);

enum rs_status source_seek_fd(struct source *s, uint64_t offset);
/* The first bytes are looked at: gzip or not. */
enum rs_status source_begin(struct source *s);
/* Of the file or the view, by the thread that calls it.  *got bytes were read before a
 * failure. */
enum rs_status source_read_now(struct source *s, void *bytes, size_t n, size_t *got);
/* Of the whole file, whatever the view. */
enum rs_status source_read_whole(struct source *s, void *bytes, size_t n, size_t *got);
enum rs_status source_seek_whole(struct source *s, const struct source_index *index,
	uint64_t offset);
enum rs_status source_skip_to(struct source *s, uint64_t offset);

/* Takes the path and the ranges of a name that has some. */
enum rs_status source_view_open(const char *name, struct source *s);
void source_view_close(struct source *s);
enum rs_status source_view_read(struct source *s, void *bytes, size_t n, size_t *got);
enum rs_status source_view_seek(struct source *s, const struct source_index *index,
	uint64_t offset);

/* Starts the thread if there is something to inflate. */
enum rs_status source_ahead_begin(struct source *s);
enum rs_status source_ahead_read(struct source *s, void *bytes, size_t n, size_t *got);
/* Stops it. */
void source_ahead_end(struct source *s);

enum rs_status source_gzip_begin(struct source *s);
enum rs_status source_gzip_read(struct source *s, unsigned char *out, size_t n, size_t *got);
/* Enters at the best access point, or at the first byte. */
enum rs_status source_gzip_seek(struct source *s, const struct source_index *index,
	uint64_t offset);
void source_gzip_end(struct source *s);

enum rs_status source_command_start(struct source *s, const char *command);
/* At the end of its output: waits and checks the exit status. */
enum rs_status source_command_finish(struct source *s);
/* Before the end: stops the command and everything it started. */
void source_command_kill(struct source *s);

#endif
