/* Messages for people: one line, one write. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/status.h"
#include "base/system_log.h"
#include "base/thread.h"

enum { LINE_MAX_BYTES = 4096, LINE_ROOM = LINE_MAX_BYTES + 64 };

static const char *const level_name[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warning", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

static atomic_int      level_now = LOG_WARN;
static atomic_int      file_now = -1;
static atomic_int      file_json;
static int             system_open;    /* set once, before threads start */
static const char     *name_now;       /* set once, before threads start */
static struct log_sink sink_now;       /* set once, before threads start */

void
log_set_level(enum log_level level)
{
	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

enum log_level
log_level(void)
{
	return (enum log_level)atomic_load_explicit(&level_now, memory_order_relaxed);
}

void
log_set_name(const char *name)
{
	name_now = name;
}

void
log_set_file(int fd, int json)
{
	atomic_store_explicit(&file_json, json, memory_order_relaxed);
	atomic_store_explicit(&file_now, fd, memory_order_release);
}

void
log_set_sink(const struct log_sink *sink)
{
	sink_now = sink != NULL ? *sink : (struct log_sink){ 0 };
}

/* A message that cannot be written has nowhere else to go. */
static void
write_line(int fd, const char *line, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, line, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		line += done;
		n -= (size_t)done;
	}
}

/* Members file, line and column, those that are known. */
static void
put_place(struct json *j, const struct rs_failure *f)
{
	char file[sizeof(f->where)];

	if (f->file_bytes == 0)
		return;
	memcpy(file, f->where, f->file_bytes);
	file[f->file_bytes] = '\0';
	json_string(j, "file", file);
	if (f->line > 0)
		json_int(j, "line", (int64_t)f->line);
	if (f->column > 0)
		json_int(j, "column", (int64_t)f->column);
}

/* f: the failure that the text is of, or NULL. */
static void
write_file_copy(enum log_level level, const char *line, size_t n, const char *text,
	const struct rs_failure *f)
{
	const int fd = atomic_load_explicit(&file_now, memory_order_acquire);
	struct json j;
	char        now[24];

	if (fd < 0)
		return;
	if (!atomic_load_explicit(&file_json, memory_order_relaxed)) {
		write_line(fd, line, n);
		return;
	}
	clock_utc(now);
	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "log");
	json_string(&j, "time", now);
	json_string(&j, "level", level_name[level]);
	json_string(&j, "text", text);
	if (f != NULL)
		put_place(&j, f);
	json_close(&j);
	buffer_append(&j.text, "\n", 1);
	write_line(fd, j.text.data, j.text.n);
	json_free(&j);
}

/* text: one message; newlines inside it would look like other messages.  Returns the bytes
 * of the line. */
static size_t
make_line(char line[LINE_ROOM], const char *prefix, const char *text)
{
	int n = snprintf(line, LINE_ROOM - 1, "recsys-train: %s%s%s%s",
		name_now != NULL ? name_now : "", name_now != NULL ? ": " : "", prefix, text);

	if (n < 0)
		return 0;
	if (n > LINE_ROOM - 2)
		n = LINE_ROOM - 2;
	for (int i = 0; i < n; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[n++] = '\n';
	return (size_t)n;
}

static void
write_message(enum log_level level, const char *prefix, const char *text,
	const struct rs_failure *f)
{
	char line[LINE_ROOM];
	const size_t n = make_line(line, prefix, text);

	write_line(STDERR_FILENO, line, n);
	write_file_copy(level, line, n, text, f);
}

static void
message(enum log_level level, const char *prefix, const char *format, va_list arguments)
{
	char text[LINE_MAX_BYTES];

	vsnprintf(text, sizeof(text), format, arguments);
	if (level == LOG_WARN && sink_now.warning != NULL)
		sink_now.warning(sink_now.context, text);
	if (level <= log_level())
		write_message(level, prefix, text, NULL);
}

void
log_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message(LOG_ERROR, "error: ", format, arguments);
	va_end(arguments);
}

void
log_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message(LOG_WARN, "warning: ", format, arguments);
	va_end(arguments);
}

void
log_passed(const struct rs_failure *why, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list arguments;
	int n = why == NULL ? 0 : snprintf(text, sizeof(text), "%s%s%s; ", why->where,
		why->where[0] != '\0' ? ": " : "", why->text);

	n = n < 0 ? 0 : n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
	va_start(arguments, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, arguments);
	va_end(arguments);
	if (sink_now.warning != NULL)
		sink_now.warning(sink_now.context, text);
	write_message(LOG_WARN, "warning: ", text, why);
}

void
log_info(const char *format, ...)
{
	va_list arguments;

	if (log_level() < LOG_INFO)
		return;
	va_start(arguments, format);
	message(LOG_INFO, "", format, arguments);
	va_end(arguments);
}

void
log_debug(const char *format, ...)
{
	va_list arguments;

	if (log_level() < LOG_DEBUG)
		return;
	va_start(arguments, format);
	message(LOG_DEBUG, "debug: ", format, arguments);
	va_end(arguments);
}

void
log_open_system(const char *name)
{
	system_log_open(name);
	system_open = 1;
}

void
log_summary(enum log_level level, const char *format, ...)
{
	static const enum system_log_priority priority[] = {
		[LOG_ERROR] = SYSTEM_LOG_ERROR, [LOG_WARN] = SYSTEM_LOG_WARNING,
		[LOG_INFO] = SYSTEM_LOG_INFO, [LOG_DEBUG] = SYSTEM_LOG_INFO,
	};
	char text[LINE_MAX_BYTES], line[LINE_ROOM];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	const size_t n = make_line(line, "", text);
	write_file_copy(level, line, n, text, NULL);
	if (system_open)
		system_log_write(priority[level], text);
}

void
log_failure(void)
{
	const struct rs_failure *f = rs_failure();
	char                     prefix[sizeof(f->where) + 16];

	if (f->status == RS_OK)
		return;
	snprintf(prefix, sizeof(prefix), "%s%serror: ", f->where, f->where[0] != '\0' ? ": " : "");
	write_message(LOG_ERROR, prefix, f->text[0] != '\0' ? f->text : rs_status_text(f->status),
		f);
	if (f->hint[0] != '\0')
		write_message(LOG_ERROR, "hint: ", f->hint, NULL);
}
