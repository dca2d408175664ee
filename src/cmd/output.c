/* Standard output: buffered, every write checked. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"

static char   block[1 << 16];
static size_t used;
static enum rs_status broken = RS_OK;     /* once output failed, the rest is dropped */

static enum rs_status
write_all(const char *bytes, size_t n)
{
	while (n > 0 && broken == RS_OK) {
		const ssize_t done = write(STDOUT_FILENO, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EPIPE) {
			command_stop_signal = SIGPIPE;
			broken = RS_ESIGNAL;
			return rs_fail(RS_ESIGNAL, "standard output was closed");
		}
		if (done < 0) {
			broken = RS_EIO;
			return rs_fail(RS_EIO, "cannot write to standard output: %s",
				strerror(errno));
		}
		bytes += done;
		n -= (size_t)done;
	}
	return broken;
}

enum rs_status
output_flush(void)
{
	const size_t n = used;

	used = 0;
	return write_all(block, n);
}

enum rs_status
output_text(const char *text, size_t n)
{
	if (n > sizeof(block) - used)
		RS_TRY(output_flush());
	if (n > sizeof(block))
		return write_all(text, n);
	memcpy(block + used, text, n);
	used += n;
	return broken;
}

enum rs_status
output_printf(const char *format, ...)
{
	enum rs_status status;
	va_list arguments;
	char   *text;
	int     n;

	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	status = output_text(text, (size_t)n);
	free(text);
	return status;
}
