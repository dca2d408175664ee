/* Inside of publishing; for publish.c and its parts only. */
#ifndef TRAIN_PUBLISH_PRIVATE_H
#define TRAIN_PUBLISH_PRIVATE_H

#include "train/publish.h"

/* --- publish_copy.c: PUBLISH/142 and PUBLISH/current --- */

struct publish_copy {
	const char *from;          /* directory of the version                        */
	const char *to;            /* PUBLISH                                         */
	uint64_t version;
	int64_t  keep;             /* 0: all                                          */
};

/* Is all of it there, with the files of this version, and does the link name it? */
int publish_copy_is_done(const struct publish_copy *c);
/* Makes what is missing; copies above the version go, and of those below all but the
 * newest.  After a failure the link names what it did, and that is whole. */
enum rs_status publish_copy_make(const struct publish_copy *c);
/* Names in PUBLISH that publish_copy_make() removes. */
enum rs_status publish_copy_excess(const struct publish_copy *c, struct text_list *out);
void publish_copy_free_names(struct text_list *list);

/* --- publish_command.c --- */

struct publish_command {
	const char *command;
	double   limit;            /* seconds                                         */
	const char *directory;     /* of the model                                    */
	const char *published;     /* PUBLISH or ""                                   */
	uint64_t version;
};

/* RS_OK when it ended with 0; else the failure tells how it ended. */
enum rs_status publish_command_run(const struct publish_command *c);

/* --- publish_pending.c: DIR/PENDING, what is to be done once CURRENT names a version --- */

enum publish_task { PUBLISH_COMMAND = 1, PUBLISH_ROLLBACK = 2 };

/* Lines "142 command"; one that is not understood is as if the command were to be run. */
enum rs_status publish_pending_read(const char *directory, uint64_t version, unsigned *tasks);
/* What stands there for CURRENT is kept beside tasks of `version`, in case that the commit
 * of `version` never comes.  No tasks for either: the file goes. */
enum rs_status publish_pending_write(const char *directory, uint64_t version, unsigned tasks);

#endif
