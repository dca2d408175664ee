/* Writes a journal. */
#include "remote/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "comm/wire.h"
#include "remote/journal_private.h"

#define SYNC_MS       200
#define RESERVE_BYTES ((uint64_t)64 << 20)  /* of the file system that are left to others  */
#define LOOK_BYTES    ((uint64_t)16 << 20)  /* written between looks at what is left       */
#define RETIRED_MAX   4
#define NONE          UINT64_MAX

/* With all rows, as of step; NONE: there is none. */
struct complete { uint64_t segment, step; };

struct journal {
	struct journal_options o;
	int      is_on, fd;         /* fd: of the segment; -1: there is none                */
	int      has_files;
	uint64_t first, segment;    /* the oldest that there is; the newest that there was  */
	uint64_t bytes, end_bytes;  /* of the segment, and up to its END                    */
	uint64_t looked_at;         /* bytes when space was looked for                      */
	struct complete newest, oldest;     /* oldest: NONE, or before the newest           */

	/* What waits for the disk. */
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock;
	pthread_cond_t  wake;
	int is_over, is_dirty;
	int retired[RETIRED_MAX];   /* of former segments, to be synchronised and closed    */
	size_t n_retired;
	atomic_int sync_error;      /* errno                                                */
};

/* --- the disk ------------------------------------------------------------------------------- */

/* Called with the lock, which is open meanwhile. */
static void
sync_some(struct journal *j)
{
	int fd[RETIRED_MAX + 1];
	size_t n = 0;

	for (; n < j->n_retired; n++)
		fd[n] = j->retired[n];
	j->n_retired = 0;
	if (j->is_dirty && j->fd >= 0)
		fd[n++] = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
	j->is_dirty = 0;
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < n; i++) {
		if (fd[i] < 0)
			continue;
		if (fdatasync(fd[i]) != 0)
			atomic_store(&j->sync_error, errno);
		close(fd[i]);
	}
	pthread_mutex_lock(&j->lock);
}

static void *
sync_run(void *argument)
{
	struct journal *j = argument;

	pthread_mutex_lock(&j->lock);
	while (!j->is_over) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += SYNC_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		while (!j->is_over
		    && pthread_cond_timedwait(&j->wake, &j->lock, &until) != ETIMEDOUT)
			;
		if (!j->is_over)
			sync_some(j);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static enum rs_status
start_thread(struct journal *j)
{
	pthread_condattr_t a;

	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&j->wake, &a);
	pthread_condattr_destroy(&a);
	RS_TRY(thread_start(&j->thread, "journal", sync_run, j));
	j->has_thread = 1;
	return RS_OK;
}

/* The segment is no longer written; the thread closes it when it is on the disk. */
static void
retire(struct journal *j, int is_wanted)
{
	if (j->fd < 0)
		return;
	pthread_mutex_lock(&j->lock);
	if (is_wanted && j->n_retired < RETIRED_MAX)
		j->retired[j->n_retired++] = j->fd;
	else
		close(j->fd);
	j->fd = -1;
	pthread_mutex_unlock(&j->lock);
}

/* --- when it does not go on -------------------------------------------------------------- */

static void
forget_all(struct journal *j)
{
	retire(j, 0);
	if (j->has_files)
		journal_file_remove(j->o.directory, 0, NONE);
	j->has_files = 0;
	j->first = j->segment + 1;
	j->newest.step = j->oldest.step = NONE;
	j->bytes = j->end_bytes = 0;
}

static void
turn_off(struct journal *j, const char *why)
{
	j->is_on = 0;
	forget_all(j);
	log_warn("ps %zu: no journal any more: %s; when this shard dies, training goes on from the "
		"last version", j->o.shard, why);
}

static void
turn_off_errno(struct journal *j, const char *what, int error)
{
	char why[PATH_MAX + 128];

	snprintf(why, sizeof(why), "cannot %s '%s': %s", what, j->o.directory, strerror(error));
	turn_off(j, why);
}

/* Others need the file system, too. */
static int
has_room(struct journal *j)
{
	struct statvfs fs;
	char why[PATH_MAX + 128];

	j->looked_at = j->bytes;
	if (statvfs(j->o.directory, &fs) != 0)
		return 1;

	const uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize;
	const uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
	const uint64_t reserve = size / 8 < RESERVE_BYTES ? size / 8 : RESERVE_BYTES;

	if (size == 0 || left >= reserve)
		return 1;
	snprintf(why, sizeof(why), "'%s' has only %llu MiB left", j->o.directory,
		(unsigned long long)(left >> 20));
	turn_off(j, why);
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* All of them, or the journal is off. */
static void
write_all(struct journal *j, struct iovec *v, int n)
{
	while (n > 0) {
		ssize_t done = writev(j->fd, v, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			turn_off_errno(j, "write to", done < 0 ? errno : ENOSPC);
			return;
		}
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
}

void
journal_append(struct journal *j, const struct journal_record *r, const struct frame_part *part,
	size_t n_parts)
{
	static const char zeros[8];
	struct journal_bytes h = { .magic = JOURNAL_MAGIC, .type = r->type, .flags = r->flags,
		.segment = j->segment, .step = r->step, .slot = r->slot, .chunk = r->chunk };
	struct iovec v[WIRE_PARTS_MAX + 2] = { { &h, sizeof(h) } };
	uint32_t crc;
	int n = 1;

	if (!j->is_on || j->fd < 0)
		return;
	if (atomic_load(&j->sync_error) != 0) {
		turn_off_errno(j, "synchronise", atomic_load(&j->sync_error));
		return;
	}
	for (size_t i = 0; i < n_parts; i++)
		h.bytes += part[i].n;
	crc = hash_crc32c(0, &h, offsetof(struct journal_bytes, crc));
	for (size_t i = 0; i < n_parts; i++) {
		crc = hash_crc32c(crc, part[i].data, part[i].n);
		if (part[i].n > 0)
			v[n++] = (struct iovec){ (void *)(uintptr_t)part[i].data, part[i].n };
	}
	h.crc = crc;
	if (h.bytes % 8 > 0)
		v[n++] = (struct iovec){ (void *)(uintptr_t)zeros, 8 - h.bytes % 8 };
	j->bytes += sizeof(h) + journal_round_up(h.bytes);
	write_all(j, v, n);
	pthread_mutex_lock(&j->lock);
	j->is_dirty = 1;
	pthread_mutex_unlock(&j->lock);
	if (j->is_on && j->bytes - j->looked_at > LOOK_BYTES)
		(void)has_room(j);
}

static void
open_segment(struct journal *j, uint64_t segment, int flags)
{
	char path[PATH_MAX];
	int fd;

	retire(j, 1);
	journal_file_name(j->o.directory, segment, path);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0600);
	if (fd < 0) {
		turn_off_errno(j, "write to", errno);
		return;
	}
	pthread_mutex_lock(&j->lock);
	j->fd = fd;
	pthread_mutex_unlock(&j->lock);
	j->segment = segment;
	j->has_files = 1;
}

void
journal_begin(struct journal *j, uint64_t step, int is_pristine, const void *init, size_t n)
{
	const struct journal_head head = { .job = j->o.job, .shard = (uint32_t)j->o.shard,
		.is_pristine = is_pristine != 0 };
	const struct journal_record r = { .type = JOURNAL_HEAD, .step = step };
	const struct frame_part part[] = { { &head, sizeof(head) }, { init, n } };

	if (!j->is_on || !has_room(j))
		return;
	open_segment(j, j->segment + 1, O_CREAT | O_TRUNC);
	j->bytes = j->end_bytes = j->looked_at = 0;
	journal_append(j, &r, part, 2);
}

/* Those between the oldest and the newest are good for no step that these are not. */
static void
add_complete(struct journal *j, uint64_t segment, uint64_t step)
{
	if (j->oldest.step == NONE)
		j->oldest = j->newest;
	j->newest = (struct complete){ segment, step };
}

void
journal_end(struct journal *j, uint64_t step)
{
	const struct journal_record r = { .type = JOURNAL_END, .step = step };

	journal_append(j, &r, NULL, 0);
	if (!j->is_on || j->fd < 0)
		return;
	add_complete(j, j->segment, step);
	j->end_bytes = j->bytes;
}

void
journal_forget(struct journal *j, uint64_t step)
{
	if (j->oldest.step == NONE || j->newest.step > step)
		return;
	journal_file_remove(j->o.directory, 0, j->newest.segment);
	j->first = j->newest.segment;
	j->oldest.step = NONE;
}

void
journal_reset(struct journal *j)
{
	forget_all(j);
}

void
journal_sync(struct journal *j)
{
	if (!j->is_on || j->fd < 0)
		return;
	if (fdatasync(j->fd) != 0)
		turn_off_errno(j, "synchronise", errno);
}

int
journal_is_on(const struct journal *j)
{
	return j->is_on;
}

int
journal_has_segment(const struct journal *j)
{
	return j->is_on && j->fd >= 0;
}

uint64_t
journal_lowest(const struct journal *j)
{
	return j->oldest.step != NONE ? j->oldest.step : j->newest.step;
}

int
journal_has_two(const struct journal *j)
{
	return j->oldest.step != NONE;
}

uint64_t
journal_growth(const struct journal *j)
{
	return j->bytes - j->end_bytes;
}

/* --- going on with what is there ----------------------------------------------------------- */

static enum rs_status
find_last(struct journal *j)
{
	uint64_t *list;
	size_t n;

	RS_TRY(journal_file_list(j->o.directory, &list, &n));
	if (n > 0)
		j->segment = list[n - 1];
	j->has_files = n > 0;
	j->first = n > 0 ? list[0] : j->segment + 1;
	free(list);
	return RS_OK;
}

void
journal_look_again(struct journal *j)
{
	if (find_last(j) != RS_OK)
		turn_off(j, rs_failure()->text);
}

uint64_t
journal_first(const struct journal *j)
{
	return j->first;
}

struct journal_place
journal_at(const struct journal *j)
{
	if (!journal_has_segment(j))
		return (struct journal_place){ 0, 0 };
	return (struct journal_place){ j->segment, j->bytes };
}

void
journal_resume(struct journal *j, const struct journal_range *range, uint64_t step,
	const struct journal_place *end)
{
	const struct journal_record cut = { .type = JOURNAL_CUT, .step = step };

	if (!j->is_on)
		return;
	journal_file_remove(j->o.directory, end->segment + 1, NONE);
	j->newest.step = j->oldest.step = NONE;
	for (size_t i = 0; i < range->n_starts && range->start[i].step <= step; i++)
		add_complete(j, range->start[i].segment, range->start[i].step);
	open_segment(j, end->segment, 0);
	if (!j->is_on)
		return;
	j->bytes = j->looked_at = end->offset;
	j->end_bytes = 0;
	if (ftruncate(j->fd, (off_t)end->offset) != 0)
		turn_off_errno(j, "write to", errno);
	else
		journal_append(j, &cut, NULL, 0);
}

enum rs_status
journal_open(const struct journal_options *options, struct journal **out)
{
	struct journal *j;
	enum rs_status status;

	RS_TRY(file_make_directories(options->directory));
	(void)chmod(options->directory, 0700);
	RS_TRY(memory_alloc(1, sizeof(*j), &j));
	*j = (struct journal){ .o = *options, .is_on = 1, .fd = -1,
		.newest.step = NONE, .oldest.step = NONE };
	status = find_last(j);
	if (status == RS_OK)
		status = start_thread(j);
	if (status != RS_OK) {
		journal_close(j);
		return status;
	}
	*out = j;
	return RS_OK;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	if (j->has_thread) {
		pthread_mutex_lock(&j->lock);
		j->is_over = 1;
		pthread_cond_broadcast(&j->wake);
		pthread_mutex_unlock(&j->lock);
		thread_join(j->thread);
		pthread_cond_destroy(&j->wake);
		pthread_mutex_destroy(&j->lock);
	}
	for (size_t i = 0; i < j->n_retired; i++)
		close(j->retired[i]);
	if (j->fd >= 0)
		close(j->fd);
	free(j);
}
