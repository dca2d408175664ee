/* Byte sources: files, standard input and commands behind one read call. */
#include "data/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/source_private.h"
#include "data/tfrecord.h"


static enum rs_status
source_make(const char *name, enum source_kind kind, struct source **out)
{
	struct source *s;

	RS_TRY(memory_alloc(1, sizeof *s, &s));
	s->fd = -1;
	s->kind = kind;
	if (memory_strdup(name, &s->name) != RS_OK ||
	    memory_alloc(SOURCE_BUFFER, 1, &s->in) != RS_OK) {
		source_close(s);
		return rs_failure()->status;
	}
	*out = s;
	return RS_OK;
}

static enum rs_status
source_open_file(struct source *s)
{
	struct stat st;

	/* A pipe that nobody writes to is waited for where it is read. */
	s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return rs_fail(file_status_of(errno, RS_ENOINPUT),
			"cannot open '%s': %s", s->name, strerror(errno));
	if (fstat(s->fd, &st) != 0)
		return rs_fail(RS_EIO, "cannot examine '%s': %s", s->name, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		(void)rs_fail(RS_ENOINPUT, "'%s' is a directory, wanted a file", s->name);
		return rs_hint("name its files, for instance '%s/*.tsv'", s->name);
	}
	if (!S_ISREG(st.st_mode))
		s->kind = SOURCE_PIPE;
	return RS_OK;
}

enum rs_status
source_open(const char *path, struct source **out)
{
	struct source *s;
	const int is_stdin = strcmp(path, "-") == 0;

	RS_TRY(source_make(is_stdin ? "standard input" : path,
		is_stdin ? SOURCE_PIPE : SOURCE_FILE, &s));
	if (is_stdin) {
		s->fd = STDIN_FILENO;
	} else if (source_view_open(path, s) != RS_OK || source_open_file(s) != RS_OK) {
		source_close(s);
		return rs_failure()->status;
	}
	*out = s;
	return RS_OK;
}

enum rs_status
source_open_command(const char *command, struct source **out)
{
	struct source *s;

	RS_TRY(source_make(command, SOURCE_COMMAND, &s));
	if (source_command_start(s, command) != RS_OK) {
		source_close(s);
		return rs_failure()->status;
	}
	*out = s;
	return RS_OK;
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	source_ahead_end(s);
	source_gzip_end(s);
	if (s->fd > STDIN_FILENO)
		(void)close(s->fd);
	if (s->pid != 0)
		source_command_kill(s);
	source_view_close(s);
	free(s->in);
	free(s->name);
	free(s);
}

const char *
source_name(const struct source *s)
{
	return s->name;
}

int
source_is_seekable(const struct source *s)
{
	return s->kind == SOURCE_FILE;
}

int
source_is_gzip(const struct source *s)
{
	return s->gzip;
}

void
source_set_stop(struct source *s, const atomic_int *stop)
{
	s->stop = stop;
}

void
source_set_idle(struct source *s, void (*idle)(void *context), void *context)
{
	s->idle = idle;
	s->idle_context = context;
}

void
source_read_ahead(struct source *s)
{
	s->wants_ahead = 1;
}

enum rs_status
source_check_stop(const struct source *s)
{
	if ((s->stop != NULL && atomic_load_explicit(s->stop, memory_order_relaxed)) ||
	    atomic_load_explicit(&s->ahead_stop, memory_order_relaxed))
		return rs_fail(RS_ESIGNAL, "reading '%s' was stopped", s->name);
	return RS_OK;
}

/* A pipe may stay silent for ever, so waiting is cut into short polls. */
static enum rs_status
source_wait(struct source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	if (s->kind == SOURCE_FILE)
		return RS_OK;
	for (;;) {
		RS_TRY(source_check_stop(s));
		if (poll(&p, 1, SOURCE_POLL_MS) != 0)
			return RS_OK;
		if (s->idle != NULL)
			s->idle(s->idle_context);
	}
}

enum rs_status
source_read_fd(struct source *s, void *bytes, size_t n, size_t *got)
{
	ssize_t r;

	do {
		RS_TRY(source_wait(s));
		r = read(s->fd, bytes, n);
	} while (r < 0 && (errno == EINTR || errno == EAGAIN));
	if (r < 0)
		return rs_fail(RS_EIO, "cannot read '%s': %s", s->name, strerror(errno));
	*got = (size_t)r;
	s->in_offset += (size_t)r;
	if (r == 0 && s->kind == SOURCE_COMMAND && !s->at_end)
		RS_TRY(source_command_finish(s));
	s->at_end = r == 0;
	return RS_OK;
}

enum rs_status
source_fill(struct source *s)
{
	s->in_at = 0;
	s->in_n = 0;
	if (s->at_end)
		return RS_OK;
	return source_read_fd(s, s->in, SOURCE_BUFFER, &s->in_n);
}

/* Has at least n bytes in the buffer, or all there are. */
static enum rs_status
source_peek(struct source *s, size_t n)
{
	while (s->in_n < n && !s->at_end) {
		size_t got;

		RS_TRY(source_read_fd(s, s->in + s->in_n, SOURCE_BUFFER - s->in_n, &got));
		s->in_n += got;
	}
	return RS_OK;
}

/* What files packed by others have in them, at a byte. */
static const struct packed {
	const char *name, *unpack, *bytes;
	size_t at;
} packed_table[] = {
	{ "zstd", "zstd -dc", "\x28\xb5\x2f\xfd", 0 }, { "bzip2", "bzip2 -dc", "1AY&SY", 4 },
	{ "xz", "xz -dc", "\xfd" "7zXZ", 0 }, { "zip", "unzip -p", "PK\x03\x04", 0 },
	{ "lz4", "lz4 -dc", "\x04\x22\x4d\x18", 0 },
};

/* Of what is there: a stream of a few bytes is not waited for. */
static enum rs_status
refuse_packed(const struct source *s)
{
	struct tfrecord record;

	for (size_t i = 0; i < sizeof packed_table / sizeof *packed_table; i++) {
		const struct packed *const p = &packed_table[i];
		const size_t n = strlen(p->bytes);

		if (s->in_n < p->at + n || memcmp(s->in + p->at, p->bytes, n) != 0)
			continue;
		tfrecord_read((const char *)s->in, s->in_n, &record);
		if (s->in_n >= TFRECORD_HEAD && record.state != TFRECORD_BAD_LENGTH)
			continue;
		(void)rs_fail(RS_EDATA, "'%s' is packed by %s, wanted text or gzip", s->name,
			p->name);
		return rs_hint("unpack it, or pipe it in: %s FILE | recsys-train ... with - for "
			"the data", p->unpack);
	}
	return RS_OK;
}

/* Looks at the first bytes: gzip is known by its content, not its name.  1f 8b are
 * also the first bytes of a TFRecord whose first record is 35615 bytes long, or so
 * modulo 65536; then the CRC of that length follows it. */
enum rs_status
source_begin(struct source *s)
{
	struct tfrecord record;

	if (s->begun)
		return RS_OK;
	RS_TRY(source_peek(s, 2));
	s->gzip = s->in_n >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
	if (s->gzip) {
		RS_TRY(source_peek(s, TFRECORD_HEAD));
		tfrecord_read((const char *)s->in, s->in_n, &record);
		s->gzip = s->in_n < TFRECORD_HEAD || record.state == TFRECORD_BAD_LENGTH;
	}
	if (!s->gzip)
		RS_TRY(refuse_packed(s));
	s->begun = 1;
	return s->gzip ? source_gzip_begin(s) : RS_OK;
}

static enum rs_status
source_read_plain(struct source *s, void *bytes, size_t n, size_t *got)
{
	const size_t buffered = s->in_n - s->in_at;

	if (buffered > 0) {
		*got = buffered < n ? buffered : n;
		memcpy(bytes, s->in + s->in_at, *got);
		s->in_at += *got;
	} else if (s->at_end) {
		*got = 0;
	} else {
		RS_TRY(source_read_fd(s, bytes, n, got));
	}
	s->offset += *got;
	return RS_OK;
}

enum rs_status
source_read_whole(struct source *s, void *bytes, size_t n, size_t *got)
{
	RS_TRY(source_begin(s));
	return s->gzip ? source_gzip_read(s, bytes, n, got) : source_read_plain(s, bytes, n, got);
}

enum rs_status
source_read_now(struct source *s, void *bytes, size_t n, size_t *got)
{
	*got = 0;
	return s->view != NULL ? source_view_read(s, bytes, n, got)
		: source_read_whole(s, bytes, n, got);
}

enum rs_status
source_read(struct source *s, void *bytes, size_t n, size_t *got)
{
	*got = 0;
	if (n == 0)
		return RS_OK;
	if (s->wants_ahead)
		RS_TRY(source_ahead_begin(s));
	return s->ahead != NULL ? source_ahead_read(s, bytes, n, got)
		: source_read_now(s, bytes, n, got);
}

/* Reads and drops bytes up to offset. */
enum rs_status
source_skip_to(struct source *s, uint64_t offset)
{
	char scratch[16 << 10];

	while (s->offset < offset) {
		const uint64_t left = offset - s->offset;
		const size_t n = left < sizeof scratch ? (size_t)left : sizeof scratch;
		size_t got;

		RS_TRY(source_read_whole(s, scratch, n, &got));
		if (got == 0)
			return rs_fail(RS_EDATA,
				"'%s' ends at byte %ju, wanted byte %ju: the file changed",
				s->name, (uintmax_t)s->offset, (uintmax_t)offset);
	}
	return RS_OK;
}

enum rs_status
source_seek_fd(struct source *s, uint64_t offset)
{
	if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		return rs_fail(RS_EIO, "cannot seek in '%s': %s", s->name, strerror(errno));
	s->in_at = 0;
	s->in_n = 0;
	s->in_offset = offset;
	s->at_end = 0;
	return RS_OK;
}

enum rs_status
source_seek_whole(struct source *s, const struct source_index *index, uint64_t offset)
{
	RS_TRY(source_begin(s));
	if (s->gzip) {
		RS_TRY(source_gzip_seek(s, index, offset));
		return source_skip_to(s, offset);
	}
	RS_TRY(source_seek_fd(s, offset));
	s->offset = offset;
	return RS_OK;
}

enum rs_status
source_seek(struct source *s, const struct source_index *index, uint64_t offset)
{
	assert(!s->wants_ahead && s->ahead == NULL);
	if (s->kind != SOURCE_FILE)
		return rs_fail(RS_EDATA, "'%s' cannot be read out of order", s->name);
	return s->view != NULL ? source_view_seek(s, index, offset)
		: source_seek_whole(s, index, offset);
}
