/*
 * What the model directory knows when a period is to be trained: the current version, its
 * ledger, the history of its figures, and the periods that the gate refused since.
 */
#ifndef CMD_INCREMENTAL_PAST_H
#define CMD_INCREMENTAL_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"
#include "train/intake.h"
#include "train/ledger.h"

struct incremental_past {
	uint64_t version;          /* the current one; 0: there is none               */
	struct ledger ledger;      /* its own; with rejected = skip also what was refused since */
	char    *figures;          /* its figures.txt, NULL: none                     */
	int64_t  refused;          /* rejected = retry: end of the newest period that was
	                            * refused since; else LEDGER_NO_PERIOD            */
	struct ledger again;       /* then that of its candidate                      */
};

/* The directory is locked.  Removes what a killed run left: temporary files and candidates
 * that were not judged.  RS_ECREATE: there is an unfinished run of another kind. */
enum rs_status incremental_past_clean(const char *directory);
enum rs_status incremental_past_read(const char *directory,
	const struct incremental_settings *s, struct incremental_past *out);
void incremental_past_free(struct incremental_past *p);
/* A warning for each period that is to be trained again and has no rows any more; nothing
 * while there is no period after them. */
void incremental_past_tell_gone(const struct incremental_past *p, const struct intake *in);

/* Names of the rows that were held out of the last accepted period and are still there. */
enum rs_status incremental_past_held(const struct incremental_past *p, struct text_list *out);
void incremental_past_free_names(struct text_list *names);

#endif
