/*
 * SQLite in few words: prepare, bind and run with the status of this program.
 *
 * types has one letter an argument: i int64_t, s const char * (NULL is NULL),
 * d double (NaN and Inf are NULL).  A statement from sql_query() is finalised by
 * sql_end(), which also reports what went wrong while stepping.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/status.h"

struct store {
	sqlite3 *db;
	char    *path;
	const char *what;       /* NULL: "run database", for messages                */
	int      read_only;
};

/* The steps of share/schema.sql; element i makes version i + 1; ends with NULL. */
extern const char *const sql_schema[];

/* Records the failure that SQLite reports for code. */
enum rs_status sql_fail(const struct store *s, int code);
enum rs_status sql_script(struct store *s, const char *text);
enum rs_status sql_run(struct store *s, const char *text, const char *types, ...);
enum rs_status sql_query(struct store *s, sqlite3_stmt **out, const char *text, const char *types,
	...);
/* 1 when there is a row. */
int sql_next(sqlite3_stmt *statement);
enum rs_status sql_end(struct store *s, sqlite3_stmt *statement);
/* One integer of a query without arguments. */
enum rs_status sql_int(struct store *s, const char *text, int64_t *out);
/* Ends a transaction: commits when status is RS_OK, else rolls back and keeps the failure. */
enum rs_status sql_finish(struct store *s, enum rs_status status);

#endif
