/*
 * Times in cells of the column of data.time, in seconds since 1970 UTC: numbers, which are
 * seconds, milliseconds, microseconds or nanoseconds by their magnitude (cut to seconds), and
 * ISO 8601 dates and times, UTC where they name no zone.
 */
#ifndef DATA_ROW_TIME_H
#define DATA_ROW_TIME_H

#include <stddef.h>
#include <stdint.h>

struct row_time_date { int64_t year; int month, day, hour, minute, second; };

/* 0: there is no such date. */
int row_time_of_date(const struct row_time_date *date, int64_t *out);
/* 0: the text is no time. */
int row_time_read(const char *text, size_t n, int64_t *out);
int row_time_read_iso(const char *text, size_t n, int64_t *out);

#endif
