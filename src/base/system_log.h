/*
 * syslog(3), apart from base/log.h: its names are those of the levels there.
 *
 * Nothing is kept when no system log runs.
 */
#ifndef BASE_SYSTEM_LOG_H
#define BASE_SYSTEM_LOG_H

enum system_log_priority { SYSTEM_LOG_ERROR, SYSTEM_LOG_WARNING, SYSTEM_LOG_INFO };

/* The name stands before every message, and is kept. */
void system_log_open(const char *name);
void system_log_write(enum system_log_priority priority, const char *text);

#endif
