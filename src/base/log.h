/*
 * Messages for people, on stderr: warnings always, info with -v, debug with
 * -vv.  One message is one line "recsys-train: TEXT" and one write(2), so lines
 * of several threads never mix.  stdout belongs to results.  A sink (set once,
 * by cmd, for the run record) sees every warning, printed or not.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

#include "base/status.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_sink {
	void (*warning)(void *context, const char *text);
	void  *context;
};

void log_set_level(enum log_level level);
enum log_level log_level(void);
/* "worker 1": stands before every message of this process; NULL: nothing does.  Borrowed. */
void log_set_name(const char *name);
void log_set_file(int fd, int json);         /* -1: none; a second copy of every line */
/* Summaries go to syslog(3) as well from now on; the name is kept. */
void log_open_system(const char *name);
void log_set_sink(const struct log_sink *sink);
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Damage that does not end the run, with what is done instead, as a warning that -q does not
 * hide.  why: the failure that is passed over, told first, "WHERE: TEXT; ...", or NULL. */
void log_passed(const struct rs_failure *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For who looks later: to the log file and the system log, whatever the level, and not to
 * stderr. */
void log_summary(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints the thread's last failure as "recsys-train: WHERE: error: TEXT" and
 * its hint line. */
void log_failure(void);

#endif
