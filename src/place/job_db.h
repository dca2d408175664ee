/*
 * job.db: what a coordinator that is started again must know of its job.
 *
 * SQLite, WAL, synchronous = FULL: job_db_save() returns when the change is on the disk, and
 * only then may anybody be told.  Times are not kept: after a start everybody has the whole
 * lease again.
 */
#ifndef PLACE_JOB_DB_H
#define PLACE_JOB_DB_H

#include "base/status.h"
#include "place/roster.h"

struct job_db;
/* Opens or makes DIRECTORY/job.db; what is there of this very job goes into the roster. */
enum rs_status job_db_open(const char *directory, struct roster *r, double now,
	struct job_db **out);
/* Writes what is dirty, in one transaction. */
enum rs_status job_db_save(struct job_db *d, struct roster *r);
void job_db_close(struct job_db *d);

#endif
