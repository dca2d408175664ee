/*
 * Places where a test may hold, end or delay the program: failpoint("checkpoint.before_rename").
 *
 *     NAME=wait:FILE   makes FILE.reached, then waits for FILE, ten minutes at most
 *     NAME=kill        SIGKILL to the process, as a loss of power
 *     NAME=exit:N      ends at once with N
 *     NAME=sleep:S     waits S seconds
 *
 * Several stand with commas between them; NAME@3 acts the third time the place is reached
 * instead of every time.  Only RECSYS_TRAIN_FAILPOINT, which is for tests, arms any.
 * Disarmed, a place costs one load.  Any thread may reach one.
 */
#ifndef BASE_FAILPOINT_H
#define BASE_FAILPOINT_H

#include "base/status.h"

extern int failpoint_armed;            /* set before threads start                    */

/* text is kept; NULL or "" disarms.  RS_EUSAGE with the part that is wrong. */
enum rs_status failpoint_arm(const char *text);
void failpoint_reach(const char *name);

static inline void
failpoint(const char *name)
{
	if (__builtin_expect(failpoint_armed, 0))
		failpoint_reach(name);
}

#endif
