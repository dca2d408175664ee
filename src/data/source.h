/*
 * Byte sources: a plain or gzip file or ranges of it, standard input, a command's output.
 *
 * Gzip is recognised by its first bytes, every member is read, truncation and a
 * bad CRC are RS_EDATA with file and offset.  source_seek() works on files: for
 * gzip through access points that source_index_point() collected while the file
 * was read once (32 KiB of window each).  A command's exit status other than 0
 * is RS_EDATA at its end of output.
 */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"

struct source;
struct source_index;                /* access points of one gzip file            */

/* "-" is standard input; a name with ranges (data/range.h) is read as a file of these
 * bytes, RS_EDATA when the file is shorter. */
enum rs_status source_open(const char *path, struct source **out);
enum rs_status source_open_command(const char *command, struct source **out);
void source_close(struct source *source);

/* Up to n decompressed bytes; *got == 0 means the end. */
enum rs_status source_read(struct source *source, void *bytes, size_t n, size_t *got);
const char *source_name(const struct source *source);
int source_is_seekable(const struct source *source);
/* Known after the first read. */
int source_is_gzip(const struct source *source);
/* Before the first read: the ranges of a name that has some must begin and end where lines
 * do, RS_EDATA where they do not. */
void source_expect_lines(struct source *source);
/* Before the first read: gzip is inflated by a thread of its own, up to 4 MiB ahead of who reads;
 * source_seek() is then a bug. */
void source_read_ahead(struct source *source);
/* A read that waits on a pipe gives up with RS_ESIGNAL soon after *stop is set. */
void source_set_stop(struct source *source, const atomic_int *stop);
/* idle(context) is called some 20 times a second while a read waits on a pipe. */
void source_set_idle(struct source *source, void (*idle)(void *context), void *context);

/* Collect access points about every span bytes while reading, farther apart when
 * there would be more than `most`; the index outlives the source and serves any
 * later source of the same file. */
enum rs_status source_collect(struct source *source, size_t span, size_t most,
	struct source_index **out);
void source_index_free(struct source_index *index);
/* Moves to a decompressed offset; index may be NULL for a plain file. */
enum rs_status source_seek(struct source *source, const struct source_index *index,
	uint64_t offset);

/* Sorted, duplicate-free (by inode) list of files for the patterns; "-" stays.  Ranges of
 * one file may be several names when they have no byte in common but a first range, the
 * header, that all begin with and none is alone.  A pattern without a match is RS_ENOINPUT.
 * Caller frees items and array. */
enum rs_status source_expand(const struct text_list *patterns, char ***path, size_t *n);
/* The same, but a name that is no pattern need not be that of a file of this host. */
enum rs_status source_expand_names(const struct text_list *patterns, char ***path, size_t *n);
/* The same as source_expand() for who looks at each file anyway: one that has two names is in
 * the list twice. */
enum rs_status source_expand_fast(const struct text_list *patterns, char ***path, size_t *n);

#endif
