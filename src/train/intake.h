/*
 * What is new: from the files of data.train, a ledger and the time to the periods that are
 * due, each with its files or ranges of files.
 *
 * A row belongs to the period [t, t + incremental.period) of its file's name or of its own
 * time; rows of periods before the mark are late.  A period is due when it is complete
 * (incremental.ready, or wait) and so are all before it that have rows; periods without a
 * row are passed over.  Files are looked at by stat(2) first: an unchanged one is not read,
 * so a look that finds nothing takes milliseconds.  A file that grew must begin with the
 * bytes that were trained, else it is replaced.
 *
 * Order of parts in a period: by path.  What intake says depends on files, ledger, settings
 * and `now` alone.  Without a due period there is nothing to tell, so there are no notices.
 */
#ifndef TRAIN_INTAKE_H
#define TRAIN_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"
#include "train/ledger.h"

struct intake_period {
	int64_t begin, end;                /* seconds since 1970                      */
	/* Names for the loader, see data/range.h; held: rows that are not trained.  The
	 * entries to come: first those of `train` in their order, then of `held` in theirs,
	 * then what is never trained (late, duplicate, replaced). */
	struct text_list train, held;
	struct ledger_entry *entry;        /* [n]                                     */
	size_t  n;
};

/* Something to tell the operator about, ready to print: "log/b.tsv: the same bytes as
 * log/a.tsv, not trained again". */
struct intake_notice {
	enum ledger_use use;       /* LEDGER_N_USES: of what is not in the ledger     */
	char *path, *text;
};

struct intake {
	struct intake_period *due;         /* [n_due] in time order                   */
	size_t n_due;
	struct intake_notice *notice;      /* [n_notices]                             */
	size_t n_notices;
	int64_t *empty;                    /* [n_empty] begins of complete periods without a
	                                    * row between mark and the last that is due, the
	                                    * newest 65536 at most                    */
	size_t n_empty;
	int64_t waiting;                   /* begin of the first period with rows that is not
	                                    * complete yet; LEDGER_NO_PERIOD: none    */
};

struct intake_options {
	const struct settings *settings;
	const struct ledger *ledger;
	int64_t now;                       /* seconds since 1970                      */
	int64_t since, until;              /* periods outside are left alone;
	                                    * LEDGER_NO_PERIOD: no limit              */
	size_t  most;                      /* periods that are worked out; 0: all     */
};

/* RS_ESPEC: periods cannot be told by these settings. */
enum rs_status intake_check_settings(const struct settings *settings);
enum rs_status intake_scan(const struct intake_options *options, struct intake **out);
void intake_free(struct intake *intake);

/* RS_EBUSY when a file of the period was renamed, replaced or cut since the scan: what is
 * read under its name may be other rows.  To be asked before a candidate is accepted. */
enum rs_status intake_check(const struct intake_period *period);

/* n periods as one: its parts are theirs, in their order, but ranges of one file are one
 * part; its begin and end are those of the last. */
enum rs_status intake_join(const struct intake_period *period, size_t n,
	struct intake_period *out);
void intake_join_free(struct intake_period *joined);

/* "2026-11-29T14:00Z" for messages; out [24]. */
const char *intake_time(int64_t t, char out[24]);
/* Such a text, a date, "now" or seconds since 1970, as --since takes it; RS_EUSAGE. */
enum rs_status intake_parse_time(const char *text, int64_t *out);

#endif
