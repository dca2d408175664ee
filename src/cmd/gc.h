/*
 * What a model directory holds, what of it is to stay, and what removing the rest frees.
 *
 * gc_scan() finds the items, gc_bind() says which must stay whatever the rules are,
 * gc_keep() applies the rules, gc_limit() the size.  Nothing here changes a file.
 */
#ifndef CMD_GC_H
#define CMD_GC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "cmd/command.h"
#include "spec/settings.h"

enum gc_kind {
	GC_VERSION,
	GC_REJECTED,
	GC_TEMPORARY,              /* of a process that is gone                       */
	GC_COPY,                   /* in the directory for serving                    */
	GC_TABLE,                  /* of a field that the current version has no more */
	GC_ROWS                    /* parsed rows of a text that is no more            */
};
enum gc_fate { GC_REMOVE, GC_STRIP, GC_KEEP };     /* strip: but for ledger and reason */

struct gc_item {
	enum gc_kind kind;
	enum gc_fate fate;
	int      bound;            /* stays whatever the rules are                    */
	char    *path, *name;      /* name: as it is shown                            */
	uint64_t version;          /* of versions and rejected ones                   */
	uint64_t parent;           /* what it is a delta of; 0: it is whole or no more than
	                            * a ledger                                         */
	int64_t  time;             /* seconds since 1970                              */
	uint64_t bytes;
	char     why[160];         /* "current, hourly"                               */
};

struct gc {
	const char *directory;
	const struct incremental_settings *settings;
	const char *cache;             /* directory of parsed rows, NULL or "": none    */
	uint64_t current;              /* or the version that stands in for it        */
	struct gc_item *item;          /* [n] newest version first                    */
	size_t n, capacity;
};

void gc_free(struct gc *g);
/* Adds an item; name and path are copied. */
enum rs_status gc_add(struct gc *g, const struct gc_item *item);
/* Appends to why: "current, hourly". */
void gc_reason(struct gc_item *item, const char *text);

/* All of the directory; versions with the time of MANIFEST. */
enum rs_status gc_scan(struct gc *g);
/* Versions that somebody needs, and what becomes of everything that is no version. */
enum rs_status gc_bind(struct gc *g);

/* Times of versions, and those that are tagged, from a run database, if there is one.  tag:
 * the tags that count, none: all do. */
enum rs_status gc_ask_runs(struct gc *g, const char *database, const char *const *tag,
	size_t n_tags);

struct gc_rules { int64_t last, hourly, daily, weekly; };      /* -1: not given       */
/* What the versions that stay, whole ones put aside too, are deltas of stays as well. */
void gc_keep_parents(struct gc *g);
/* The newest version of each of the newest so many hours, days, weeks, in UTC. */
void gc_keep(struct gc *g, const struct gc_rules *rules);
/* Removes the oldest of what is not bound until the rest has no more bytes; *left: what it
 * has. */
void gc_limit(struct gc *g, uint64_t bytes, uint64_t *left);

/* Files, so that those with further names elsewhere do not count as freed. */
struct gc_files {
	struct gc_file { dev_t device; ino_t inode; nlink_t links; uint64_t bytes; } *item;
	size_t n, capacity;
};
/* All below a path; stripped: but for what a rejected version keeps. */
enum rs_status gc_files_add(struct gc_files *f, const char *path, int stripped);
/* Sorts. */
uint64_t gc_files_freed(struct gc_files *f);
void gc_files_free(struct gc_files *f);

#endif
