/*
 * What a model was trained on: ledger.txt of a version, the only owner of the mark.
 *
 * One entry a file and period, in the order of training; an entry tells the bytes, what
 * became of them, and how the file looked then.  The text has a line of its form, the mark,
 * then a line an entry: KEY=VALUE between tabs, values escaped, what is 0 left out.  Keys
 * that are not known are passed over; a newer form is RS_EPROTOCOL.
 * A version that a plain run made has an entry a file without a period.
 */
#ifndef TRAIN_LEDGER_H
#define TRAIN_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/loader.h"
#include "data/range.h"

#define LEDGER_FILE      "ledger.txt"
#define LEDGER_NO_PERIOD INT64_MIN
#define LEDGER_HEAD      ((size_t)64 << 10)

enum ledger_use {
	LEDGER_TRAINED,
	LEDGER_HELD,               /* held out of its period, scored only              */
	LEDGER_LATE,               /* came too late and is never trained               */
	LEDGER_DUPLICATE,          /* the same bytes under another name                */
	LEDGER_REPLACED,           /* the file changed after it was trained; the rows that
	                            * are in it now are not trained                    */
	LEDGER_REJECTED,           /* the gate refused its period                      */
	LEDGER_N_USES
};

struct ledger_entry {
	char    *path;             /* absolute                                        */
	struct range_list ranges;  /* none: the whole file                            */
	uint64_t content_hash;     /* of these bytes, as loader_file.content_hash     */
	int64_t  period;           /* begin, seconds since 1970; LEDGER_NO_PERIOD     */
	enum ledger_use use;
	uint64_t rows, skipped, late;      /* rows read; of them; of earlier periods  */
	/* Entries of one file have one number whatever it was called; 0: not known. */
	uint64_t file;
	/* How the file looked, to tell quickly that nothing changed. */
	uint64_t size, inode;      /* size: as stored                                 */
	int64_t  modified_ns;
	uint64_t text;             /* bytes of it decompressed; 0: not known          */
	uint32_t head, head_bytes; /* CRC32C of so many of its first bytes, at most
	                            * LEDGER_HEAD; 0: not known                       */
};

struct ledger {
	struct ledger_entry *entry;        /* [n]                                     */
	size_t  n, capacity;
	int64_t mark;              /* end of the newest period that is done with;
	                            * LEDGER_NO_PERIOD: none was                      */
	uint64_t last_file;        /* the greatest number of a file                   */
};

void ledger_init(struct ledger *l);
void ledger_free(struct ledger *l);
enum rs_status ledger_entry_copy(const struct ledger_entry *from, struct ledger_entry *to);
void ledger_entry_free(struct ledger_entry *entry);
/* Takes what the entry owns, also on failure. */
enum rs_status ledger_add(struct ledger *l, struct ledger_entry *entry);
enum rs_status ledger_copy(const struct ledger *from, struct ledger *to);
int ledger_equal(const struct ledger *a, const struct ledger *b);

enum rs_status ledger_print(const struct ledger *l, struct buffer *out);
/* name: of the text, for messages. */
enum rs_status ledger_parse(const char *text, size_t n, const char *name, struct ledger *out);
/* Of a version that was checked; one without ledger.txt has an empty ledger. */
enum rs_status ledger_read(const char *directory, uint64_t version, struct ledger *out);
enum rs_status ledger_read_file(const char *path, struct ledger *out);

/* What the loader found out about the bytes of an entry that was trained. */
void ledger_count(struct ledger_entry *entry, const struct loader_file *file);
/* An entry for a file, or a part, of a plain run; none for standard input.  Not for the
 * output of a command. */
enum rs_status ledger_add_file(struct ledger *l, const struct loader_file *file);
/* The folder of a path, absolute and without links; caller frees.  NULL: there is none. */
char *ledger_folder(const char *path);
/* CRC32C of the first bytes of a file, decompressed: *bytes of them, at most LEDGER_HEAD. */
enum rs_status ledger_head(const char *path, uint32_t *head, uint32_t *bytes);

/* "trained", "held", ... */
const char *ledger_use_name(enum ledger_use use);

#endif
