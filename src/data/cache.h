/*
 * A cache of parsed rows: one file for a source file, a purpose and what decides how its text
 * becomes rows.  [data] cache names the directory.
 *
 * A cache says of which source it is: size, times, inode and the hash of the text.  It is
 * CACHE_SAME only when all of the first are as they were, and were old enough then that a
 * later change must have moved them; CACHE_UNSURE when the text has to be hashed to know.
 * Whatever is damaged, of another version, of another spec or cut off is as if not there.
 *
 * Groups are those that the loader makes of the text, each with its rows (cache_rows.h) and a
 * CRC, or without when there is something in it that must be told: then the text is read.
 * Files appear complete, under their names, and are never changed; any number of processes
 * read and make them.  An open cache may be read by any number of threads.
 */
#ifndef DATA_CACHE_H
#define DATA_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/batch.h"
#include "data/batch_rows.h"
#include "data/parser.h"
#include "data/schema.h"

#define CACHE_SUFFIX ".rows"

enum cache_state { CACHE_NONE, CACHE_SAME, CACHE_UNSURE, CACHE_STALE };

struct cache_group {
	uint64_t offset, line, size;   /* of the text                                */
	uint64_t count;            /* rows as parser_count() sees them               */
	uint64_t hash;             /* Fingerprint64 of the text                      */
	uint64_t place, bytes;     /* in the file; bytes 0: not in the cache         */
	uint64_t crc;
	struct parser_tally tally;
};

/* Of the text of the source, decompressed. */
struct cache_text {
	uint64_t size, content_hash;
};

struct cache;

/* Everything but the text that rows depend on. */
enum rs_status cache_digest(const struct schema *schema, enum parser_purpose purpose,
	const struct parser_layout *layout, uint64_t group_bytes, uint64_t *out);
/* Where the cache of a source is; caller frees. */
enum rs_status cache_path(
	const char *directory, const char *source, uint64_t digest, char **out);
/* Whether the last part of a path is such a name. */
int cache_is_name(const char *name);

/* *out is NULL unless *state is CACHE_SAME or CACHE_UNSURE. */
enum rs_status cache_open(const char *path, uint64_t digest, const struct stat *source,
	enum cache_state *state, struct cache **out);
void cache_close(struct cache *c);
size_t cache_n_groups(const struct cache *c);
const struct cache_group *cache_group(const struct cache *c, size_t i);
const struct cache_text *cache_text(const struct cache *c);
/* Rows of group i into an empty batch; scratch is the thread's.  RS_EDATA: it is damaged. */
enum rs_status cache_read(const struct cache *c, size_t i, const struct schema *schema,
	struct buffer *scratch, struct batch *batch);
/* The same, as cache_rows_view() has it; the bytes are what it looks at. */
enum rs_status cache_view(const struct cache *c, size_t i, const struct schema *schema,
	struct buffer *bytes, struct batch *batch, struct batch_view *view);
/* The file of that name goes, also one that others made since; what is open can be read. */
void cache_forget(const struct cache *c);

/* What a file in a cache directory is of; the name is the caller's to free, NULL when the
 * file is no cache.  *state by the times of the source alone, CACHE_NONE: it is gone. */
enum rs_status cache_examine(const char *path, char **source, enum cache_state *state);

/* The same rows under the times that its source has now. */
enum rs_status cache_renew(const struct cache *c, const char *path, const struct stat *source);

struct cache_writer {
	struct file_writer file;
	struct cache_group *group;     /* [n]                                        */
	size_t n, capacity;
	struct buffer bytes;
	int64_t begun;             /* seconds since 1970                             */
};

enum rs_status cache_writer_open(struct cache_writer *w, const char *path);
/* place, bytes and crc of the group are filled; batch NULL: without its rows. */
enum rs_status cache_writer_add(struct cache_writer *w, const struct schema *schema,
	const struct cache_group *group, const struct batch *batch);
/* source: examined before the first byte was read, and found the same after the last. */
enum rs_status cache_writer_commit(struct cache_writer *w, const char *name, uint64_t digest,
	const struct stat *source, const struct cache_text *text);
/* Without a commit nothing is left. */
void cache_writer_close(struct cache_writer *w);

#endif
