/*
 * What the files of the coordinator share: the roster with its links and its database.
 *
 * Nobody is told anything before coordinator_commit() wrote down what it relies on.
 */
#ifndef PLACE_COORDINATOR_PRIVATE_H
#define PLACE_COORDINATOR_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "comm/wire.h"
#include "place/coordinator.h"
#include "place/job_db.h"
#include "place/roster.h"

#define LINK_REPORT_MAX ((size_t)4096)

/* How a node is spoken to, and what it said last. */
struct link {
	struct wire_peer peer;
	int      has_peer;
	uint32_t epoch;             /* of the last view that it has                   */
	struct buffer report;       /* lines "key = value"                            */
};

struct coordinator {
	const struct coordinator_options *o;
	struct roster roster;
	struct job_db *db;
	struct link *link;          /* [roster.n]                                     */
	uint64_t news_told;
	double   now, pinged, published;
	double   signalled;         /* when a signal was first seen; 0                */
	int      leash;             /* -1: none any more                              */
	char     line[512];         /* of the leash, not whole yet                    */
	size_t   n_line;
	struct rs_failure failure;  /* it cannot go on                                */
};

/* RS_OK also after a failure that is in c->failure, with which serving then ends. */
void coordinator_commit(struct coordinator *c);
/* Handles one message of anybody, and answers it. */
void coordinator_take(struct coordinator *c, const struct wire_message *m);
/* Tells a node what it is to do; RS_EPEER: it cannot be told. */
enum rs_status coordinator_tell(struct coordinator *c, size_t number, const struct wire_peer *to,
	uint64_t request);
/* The table of nodes; json: an object on one line. */
enum rs_status coordinator_print(const struct coordinator *c, int json, struct buffer *out);
/* Writes both forms into the job's directory, for those who have no key. */
/* The next "key = value" that a node reports, cleaned; key "" at the end. */
void coordinator_next_report(const struct link *l, size_t *at, char key[72], char value[72]);
/* For Prometheus. */
enum rs_status coordinator_metrics(const struct coordinator *c, struct buffer *out);
/* RS_ECREATE: the file of figures cannot be written; before anybody relies on it. */
enum rs_status coordinator_check_metrics(const struct coordinator_options *o);
void coordinator_publish(const struct coordinator *c);

#endif
