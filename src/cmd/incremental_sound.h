/*
 * Is the model that the next period is trained on what CURRENT says?
 *
 * Weights and ledger belong together: a run must not take the weights of a former version
 * for those of a damaged one whose ledger it has read.
 */
#ifndef CMD_INCREMENTAL_SOUND_H
#define CMD_INCREMENTAL_SOUND_H

#include "base/status.h"
#include "spec/settings.h"

/* RS_EDATA when CURRENT is lost: it names no version, or is not there although a version was
 * made after another one.  Before anything is removed. */
enum rs_status incremental_sound_mark(const char *directory);

/* Reads all files of the current version.  When it is damaged or not there, and a former one
 * is sound, the model goes back to that with a warning, as by rollback: *went_back, and
 * whoever has read the ledger reads it again.  RS_EDATA: there is none. */
enum rs_status incremental_sound_version(const char *directory,
	const struct incremental_settings *s, int *went_back, int *incomplete);

#endif
