/* The copy of another shard's journal that this one keeps. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "remote/journal_private.h"
#include "remote/shard_private.h"

#define READ_MAX ((uint32_t)4 << 20)

static enum rs_status
directory_of(const struct shard *s, size_t shard, char out[PATH_MAX])
{
	if (s->o->journal == NULL)
		return rs_fail(RS_EPROTOCOL, "ps %zu keeps no journals", s->o->index);
	if (shard == s->o->index)
		return rs_fail(RS_EPROTOCOL, "ps %zu sends itself a copy", shard);
	if (snprintf(out, PATH_MAX, "%s.copy%zu", s->o->journal->directory, shard) >= PATH_MAX)
		return rs_fail(RS_EIO, "the path of a copy is too long");
	return RS_OK;
}

static void
close_file(struct shard_keeper *k)
{
	if (k->is_open)
		close(k->fd);
	k->is_open = 0;
}

static enum rs_status
fail_errno(const char *what, const char *path)
{
	return rs_fail(RS_EIO, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* --- taking ---------------------------------------------------------------------------- */

static enum rs_status
begin(struct shard *s, const struct body_copy *b, size_t shard, const char *directory)
{
	struct shard_keeper *const k = &s->keeper;

	close_file(k);
	journal_file_remove(directory, 0, UINT64_MAX);
	RS_TRY(file_make_directories(directory));
	(void)chmod(directory, 0700);
	*k = (struct shard_keeper){ .id = b->id, .shard = shard,
		.at = { b->segment, 0 } };
	return RS_OK;
}

/* Those after it go, too. */
static enum rs_status
cut(struct shard_keeper *k, const struct body_copy *b, const char *directory)
{
	char path[PATH_MAX];

	close_file(k);
	journal_file_remove(directory, b->segment + 1, UINT64_MAX);
	journal_file_name(directory, b->segment, path);
	if (truncate(path, (off_t)b->offset) != 0 && errno != ENOENT)
		return fail_errno("shorten", path);
	k->at = (struct journal_place){ b->segment, b->offset };
	return RS_OK;
}

static enum rs_status
write_all(int fd, const void *bytes, size_t n, uint64_t offset)
{
	const char *at = bytes;

	while (n > 0) {
		const ssize_t done = pwrite(fd, at, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return fail_errno("write to", "a copy");
		at += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return RS_OK;
}

/* The next bytes of the segment, or the first of the next one. */
static enum rs_status
append(struct shard *s, const struct body_copy *b, struct shard_reader *r, const char *directory)
{
	struct shard_keeper *const k = &s->keeper;
	struct buffer scratch = { 0 };
	const uint8_t *bytes;
	char path[PATH_MAX];
	enum rs_status status;

	if (b->segment != k->at.segment && b->offset == 0 && b->segment > k->at.segment) {
		close_file(k);
		k->at = (struct journal_place){ b->segment, 0 };
	}
	if (b->segment != k->at.segment || b->offset != k->at.offset)
		return rs_fail(RS_EPROTOCOL, "a copy goes on at %" PRIu64 " of segment %" PRIu64
			", not at %" PRIu64 " of %" PRIu64, b->offset, b->segment, k->at.offset,
			k->at.segment);
	if (!k->is_open) {
		journal_file_name(directory, b->segment, path);
		k->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (k->fd < 0)
			return fail_errno("write to", path);
		k->is_open = 1;
	}
	status = shard_reader_block(r, b->n, &scratch, &bytes);
	if (status == RS_OK)
		status = write_all(k->fd, bytes, b->n, b->offset);
	buffer_free(&scratch);
	RS_TRY(status);
	k->at.offset += b->n;
	if (s->o->journal->durable && fdatasync(k->fd) != 0)
		return fail_errno("synchronise", directory);
	return RS_OK;
}

static enum rs_status
change(struct shard *s, const struct body_copy *b, struct shard_reader *r, size_t shard)
{
	struct shard_keeper *const k = &s->keeper;
	char directory[PATH_MAX];

	RS_TRY(directory_of(s, shard, directory));
	if (b->what == BODY_COPY_BEGIN)
		return begin(s, b, shard, directory);
	if (b->id == 0 || k->id != b->id || k->shard != shard)
		return b->what == BODY_COPY_ASK ? RS_OK
			: rs_fail(RS_EPROTOCOL, "ps %zu has not the begin of this copy",
				s->o->index);
	switch (b->what) {
	case BODY_COPY_ASK:
		return RS_OK;
	case BODY_COPY_WRITE:
		return append(s, b, r, directory);
	case BODY_COPY_CUT:
		return cut(k, b, directory);
	case BODY_COPY_DROP:
		journal_file_remove(directory, 0, b->segment);
		return RS_OK;
	default:
		return rs_fail(RS_EPROTOCOL, "a copy with what = %u", b->what);
	}
}

enum rs_status
shard_keeper_take(struct shard *s, struct wire_message *m)
{
	const struct shard_keeper *const k = &s->keeper;
	struct body_copy b, answer = { 0 };
	const struct wire_part part = { .data = &answer, .n = sizeof(answer) };
	struct shard_reader r;

	shard_reader_init(&r, m);
	RS_TRY(shard_reader_copy(&r, &b, sizeof(b)));
	if (r.left != b.n || (b.what != BODY_COPY_WRITE && b.n > 0))
		return rs_fail(RS_EPROTOCOL, "a copy of %u bytes with %zu", b.n, r.left);
	if (b.segment >= UINT64_MAX / 2 || b.offset >= UINT64_MAX / 4)
		return rs_fail(RS_EPROTOCOL, "a copy of segment %" PRIu64, b.segment);
	RS_TRY(change(s, &b, &r, m->frame.slot));
	if (b.id != 0 && k->id == b.id && k->shard == m->frame.slot)
		answer = (struct body_copy){ .id = k->id, .segment = k->at.segment,
			.offset = k->at.offset };
	shard_answer(s, m, FRAME_COPY_R, &part, 1);
	return RS_OK;
}

/* --- giving --------------------------------------------------------------------------------- */

static enum rs_status
list(struct shard *s, struct wire_message *m, const char *directory)
{
	struct wire_part part = { .n = 0 };
	struct body_copy_file *file;
	uint64_t *segment;
	size_t n;

	RS_TRY(journal_file_list(directory, &segment, &n));
	const enum rs_status status = memory_alloc(n + 1, sizeof(*file), &file);
	if (status != RS_OK) {
		free(segment);
		return status;
	}
	for (size_t i = 0; i < n; i++) {
		char path[PATH_MAX];
		struct stat st;

		journal_file_name(directory, segment[i], path);
		file[i].segment = segment[i];
		file[i].bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	part.data = file;
	part.n = n * sizeof(*file);
	shard_answer(s, m, FRAME_COPY_R, &part, n > 0);
	free(file);
	free(segment);
	return RS_OK;
}

static enum rs_status
read_piece(struct shard *s, struct wire_message *m, const struct body_copy *b,
	const char *directory)
{
	struct wire_part part = { .n = 0 };
	struct shard_block *block;
	char path[PATH_MAX];
	ssize_t got = -1;
	int fd;

	if (b->n > READ_MAX)
		return rs_fail(RS_EPROTOCOL, "%u bytes of a copy are too many", b->n);
	journal_file_name(directory, b->segment, path);
	RS_TRY(shard_pool_take(s->pool, b->n, &block));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = pread(fd, block->data, b->n, (off_t)b->offset);
		close(fd);
	}
	part.data = block->data;
	part.n = b->n;
	if (got == (ssize_t)b->n)
		shard_answer(s, m, FRAME_COPY_R, &part, b->n > 0);
	shard_pool_put(block);
	return got == (ssize_t)b->n ? RS_OK : rs_fail(RS_EIO, "ps %zu has no %u bytes at %" PRIu64
		" of segment %" PRIu64, s->o->index, b->n, b->offset, b->segment);
}

enum rs_status
shard_keeper_give(struct shard *s, struct wire_message *m)
{
	char directory[PATH_MAX];
	struct shard_reader r;
	struct body_copy b;

	shard_reader_init(&r, m);
	RS_TRY(shard_reader_copy(&r, &b, sizeof(b)));
	RS_TRY(directory_of(s, m->frame.slot, directory));
	if (b.segment >= UINT64_MAX / 2 || b.offset >= UINT64_MAX / 4)
		return rs_fail(RS_EPROTOCOL, "a copy of segment %" PRIu64, b.segment);
	if (b.what == BODY_COPY_LIST)
		return list(s, m, directory);
	if (b.what == BODY_COPY_READ)
		return read_piece(s, m, &b, directory);
	return rs_fail(RS_EPROTOCOL, "COPY_GET with what = %u", b.what);
}

void
shard_keeper_free(struct shard *s)
{
	close_file(&s->keeper);
}
