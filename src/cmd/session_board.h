/*
 * The curves of a session for TensorBoard: runs.tensorboard.
 *
 * A run has a directory there, NAME-r0042, where NAME is the last part of the model's path;
 * one that is resumed goes on in that of the run before.  Runs over periods of a model share
 * the directory NAME.  What cannot be written is a warning once; training goes on.
 */
#ifndef CMD_SESSION_BOARD_H
#define CMD_SESSION_BOARD_H

#include "cmd/session.h"

/* Rows of progress for the curves, when nobody else looks at them. */
void session_board_rhythm(const struct session *s, const struct settings *settings,
	struct train_options *options);

/* Does nothing without runs.tensorboard, or in a process without a run record. */
void session_board_begin(struct session *s, const struct model *m);
void session_board_progress(struct session *s, const struct train_progress *p);
void session_board_epoch(struct session *s, const struct train_epoch *e);
void session_board_scored(struct session *s, const struct metric_result *m);
void session_board_end(struct session *s);

#endif
