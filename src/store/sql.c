/* Wrappers of SQLite calls. */
#include "store/sql.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"

static const struct {
	int code;
	enum rs_status status;
} code_table[] = {
	{ SQLITE_BUSY, RS_EBUSY }, { SQLITE_LOCKED, RS_EBUSY }, { SQLITE_PROTOCOL, RS_EBUSY },
	{ SQLITE_NOTADB, RS_EDATA }, { SQLITE_CORRUPT, RS_EDATA },
	{ SQLITE_CANTOPEN, RS_ECREATE }, { SQLITE_NOMEM, RS_ERESOURCE },
	{ SQLITE_PERM, RS_EDENIED }, { SQLITE_READONLY, RS_EDENIED }, { SQLITE_AUTH, RS_EDENIED },
	{ SQLITE_FULL, RS_EIO }, { SQLITE_IOERR, RS_EIO },
	{ SQLITE_SCHEMA, RS_EDATA }, { SQLITE_ERROR, RS_EDATA }, { SQLITE_CONSTRAINT, RS_EBUG },
};

/* The errno of a file that SQLite could not open or use for a shortage; 0: it was none. */
static int
shortage(const struct store *s, int code)
{
	const int of_file = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR;
	const int error = of_file && s->db != NULL ? sqlite3_system_errno(s->db) : 0;

	return file_is_shortage(error) ? error : 0;
}

enum rs_status
sql_fail(const struct store *s, int code)
{
	enum rs_status status = RS_EBUG;
	const char *what = s->what != NULL ? s->what : "run database";
	const int error = shortage(s, code);

	if (error != 0)
		return rs_fail(RS_ERESOURCE, "%s '%s': %s", what, s->path, strerror(error));
	for (size_t i = 0; i < sizeof code_table / sizeof code_table[0]; i++)
		if (code_table[i].code == (code & 0xff))
			status = code_table[i].status;
	if (status == RS_EBUSY)
		return rs_fail(status, "%s '%s': locked by another process", what, s->path);
	return rs_fail(status, "%s '%s': %s", what, s->path,
		s->db != NULL ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
}

enum rs_status
sql_script(struct store *s, const char *text)
{
	const int code = sqlite3_exec(s->db, text, NULL, NULL, NULL);

	return code == SQLITE_OK ? RS_OK : sql_fail(s, code);
}

static int
bind_double(sqlite3_stmt *statement, int i, double value)
{
	if (!isfinite(value))
		return sqlite3_bind_null(statement, i);
	return sqlite3_bind_double(statement, i, value);
}

static enum rs_status
prepare(struct store *s, sqlite3_stmt **out, const char *text, const char *types, va_list arguments)
{
	int code = sqlite3_prepare_v2(s->db, text, -1, out, NULL);

	for (int i = 1; code == SQLITE_OK && types[i - 1] != '\0'; i++) {
		const char type = types[i - 1];
		assert(type == 'i' || type == 's' || type == 'd');
		if (type == 'i')
			code = sqlite3_bind_int64(*out, i, va_arg(arguments, int64_t));
		else if (type == 's')
			code = sqlite3_bind_text(*out, i, va_arg(arguments, const char *), -1,
				SQLITE_TRANSIENT);
		else
			code = bind_double(*out, i, va_arg(arguments, double));
	}
	if (code == SQLITE_OK)
		return RS_OK;
	const enum rs_status status = sql_fail(s, code);
	sqlite3_finalize(*out);
	*out = NULL;
	return status;
}

enum rs_status
sql_query(struct store *s, sqlite3_stmt **out, const char *text, const char *types, ...)
{
	va_list arguments;

	va_start(arguments, types);
	const enum rs_status status = prepare(s, out, text, types, arguments);
	va_end(arguments);
	return status;
}

int
sql_next(sqlite3_stmt *statement)
{
	return sqlite3_step(statement) == SQLITE_ROW;
}

enum rs_status
sql_end(struct store *s, sqlite3_stmt *statement)
{
	/* finalize repeats the code of the last step, and the message is still there. */
	const int code = sqlite3_finalize(statement);

	return code == SQLITE_OK ? RS_OK : sql_fail(s, code);
}

enum rs_status
sql_run(struct store *s, const char *text, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list arguments;

	va_start(arguments, types);
	const enum rs_status status = prepare(s, &statement, text, types, arguments);
	va_end(arguments);
	RS_TRY(status);
	while (sql_next(statement))
		continue;
	return sql_end(s, statement);
}

enum rs_status
sql_int(struct store *s, const char *text, int64_t *out)
{
	sqlite3_stmt *statement;

	RS_TRY(sql_query(s, &statement, text, ""));
	*out = sql_next(statement) ? sqlite3_column_int64(statement, 0) : 0;
	return sql_end(s, statement);
}

enum rs_status
sql_finish(struct store *s, enum rs_status status)
{
	if (status == RS_OK)
		status = sql_script(s, "COMMIT");
	if (status != RS_OK)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}
