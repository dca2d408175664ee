/*
 * Status codes and the one maker of failures.
 *
 * A function that can fail returns enum rs_status; rs_fail() is called where
 * the cause is known, everyone above passes the status on with RS_TRY.  The
 * message lives in thread-local storage until the next rs_fail() of the thread;
 * rs_failure_take/put carry it from a worker thread to the one that reports.
 * The exit code of each status is column 2 of the table; main() maps it, and
 * the EXIT STATUS section of the man pages is printed from it.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stddef.h>

#define RS_STATUS_TABLE(ROW) \
	ROW(OK,         0, "done") \
	ROW(EUNMET,     1, "a condition the caller set was not met") \
	ROW(EPARTIAL,   3, "finished, but rows or files were skipped under a skip policy") \
	ROW(EDIVERGED,  4, "training diverged (NaN or Inf); the model was not replaced") \
	ROW(EDEVICE,    5, "a GPU failed while it worked; the model was not replaced") \
	ROW(EUSAGE,    64, "wrong option, argument or command") \
	ROW(EDATA,     65, "bad input data") \
	ROW(ENOINPUT,  66, "input file missing or unreadable") \
	ROW(EPEER,     69, "a parameter server, worker or GPU cannot be reached") \
	ROW(EBUG,      70, "a bug; please report the printed line") \
	ROW(ERESOURCE, 71, "out of memory, threads, mappings or open files") \
	ROW(ECREATE,   73, "output cannot be created") \
	ROW(EIO,       74, "read or write error, disk full") \
	ROW(EBUSY,     75, "lock held by another run; try again later") \
	ROW(EPROTOCOL, 76, "peer speaks another protocol or spec") \
	ROW(EDENIED,   77, "key or permission refused") \
	ROW(ESPEC,     78, "error in the spec") \
	ROW(ESIGNAL,  128, "stopped by a signal; the exit code is 128 plus its number")

enum rs_status {
#define ROW(name, code, text) RS_##name,
	RS_STATUS_TABLE(ROW)
#undef ROW
	RS_N_STATUS
};

struct rs_failure {
	enum rs_status status;
	char           where[512];  /* "FILE:LINE:COL" or ""          */
	size_t         file_bytes;  /* of where                       */
	size_t         line, column;        /* 0: none                */
	char           text[1024];  /* lower case, no full stop       */
	char           hint[512];   /* one line or ""                 */
};

#define RS_TRY(expression) do { \
	const enum rs_status rs_try_ = (expression); \
	if (rs_try_ != RS_OK) \
		return rs_try_; \
} while (0)

/* Record a failure and return its status. */
enum rs_status rs_fail(enum rs_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same with a place; line and column count from 1, 0 leaves them out. */
enum rs_status rs_fail_at(enum rs_status status, const char *file, size_t line, size_t column,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds the hint line to the failure just recorded; returns its status, so that
 * it can end a return statement. */
enum rs_status rs_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The last failure of this thread (status RS_OK when none). */
const struct rs_failure *rs_failure(void);
void rs_failure_take(struct rs_failure *out);        /* copies and clears          */
enum rs_status rs_failure_put(const struct rs_failure *in);  /* returns in->status */

int         rs_exit_code(enum rs_status status);
/* What a process of this program meant that ended so; RS_EPEER: it says nothing. */
enum rs_status rs_status_of_exit(int code);
const char *rs_status_name(enum rs_status status);
const char *rs_status_text(enum rs_status status);

/* Copies n bytes of outside text for a message: non-printing bytes as \xHH,
 * cut to 60 characters with "..." ; returns out. */
char *rs_escape(char out[72], const char *bytes, size_t n);

#endif
