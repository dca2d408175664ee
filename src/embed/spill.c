/* Rows in memory, in a file, or in neither. */
#include "embed/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file_unnamed.h"
#include "base/memory.h"

#define LINE      64
#define NO_TAG    UINT16_MAX
#define ALL_ROOM  UINT64_MAX         /* the file system cannot take room in advance     */
#define ROOM_STEP ((uint64_t)16 << 20)

/* All under its lock. */
struct set {
	_Alignas(LINE) pthread_mutex_t lock;
	uint32_t changed;          /* since it was read or written                    */
	uint32_t recent;           /* used since the clock came by                    */
	uint16_t hand;             /* of the clock                                    */
	uint16_t held;             /* the way of the row that was taken               */
	uint16_t tag[SPILL_WAYS];  /* number of the row in the set, or NO_TAG         */
};

struct spill {
	struct spill_settings settings;
	char    *directory;
	int      fd;
	uint64_t n_sets, set_rows;
	struct set *set;           /* [n_sets]                                        */
	char    *row;              /* [n_sets, SPILL_WAYS] of row_bytes               */
	uint32_t *place;           /* [n_rows] in the file, from 1; 0: not there      */
	size_t   set_bytes, row_bytes, place_bytes;     /* of the three blocks         */
	atomic_uint_fast64_t n_places, room;    /* given away; bytes that the file has */
	atomic_int is_used;
	pthread_mutex_t growth;
};

_Static_assert(sizeof(struct set) == 2 * LINE, "a head of a set is two lines");

/* --- sizes ------------------------------------------------------------------------- */

static uint64_t
bytes_of_set(size_t row_bytes)
{
	return sizeof(struct set) + (uint64_t)SPILL_WAYS * row_bytes;
}

uint64_t
spill_least(uint64_t n_rows, size_t row_bytes)
{
	return (n_rows + SPILL_SET_ROWS - 1) / SPILL_SET_ROWS * bytes_of_set(row_bytes);
}

static uint64_t
count_sets(uint64_t n_rows, size_t row_bytes, uint64_t resident_bytes)
{
	const uint64_t n = resident_bytes / bytes_of_set(row_bytes);
	const uint64_t most = (n_rows + SPILL_WAYS - 1) / SPILL_WAYS;

	return n < most ? n : most;
}

uint64_t
spill_resident_rows(uint64_t n_rows, size_t row_bytes, uint64_t resident_bytes)
{
	return count_sets(n_rows, row_bytes, resident_bytes) * SPILL_WAYS;
}

uint64_t
spill_memory(uint64_t n_rows, size_t row_bytes, uint64_t resident_bytes)
{
	const uint64_t n = count_sets(n_rows, row_bytes, resident_bytes);

	return large_size(n * sizeof(struct set)) + large_size(n * SPILL_WAYS * row_bytes)
	    + large_size(n_rows * sizeof(uint32_t));
}

uint64_t
spill_bytes(const struct spill *s)
{
	return spill_memory(s->settings.n_rows, s->settings.row_bytes, s->settings.resident_bytes);
}

uint64_t
spill_file_bytes(const struct spill *s)
{
	return atomic_load(&s->n_places) * s->settings.row_bytes;
}

/* --- the file ---------------------------------------------------------------------- */

static enum rs_status
fail_file(const struct spill *s, const char *what, int error)
{
	(void)rs_fail(RS_EIO, "table '%s': cannot %s the rows that are not in memory, in '%s': %s",
		s->settings.name, what, s->directory, strerror(error));
	return error != ENOSPC && error != EFBIG && error != EDQUOT ? RS_EIO
		: rs_hint("make room there, or name another directory as embedding.spill");
}

static enum rs_status
open_file(struct spill *s)
{
	if (file_unnamed_create(s->directory, &s->fd) != RS_OK)
		return rs_hint("name a directory that can be written to as embedding.spill");
	/* What lies beside a row is no better than any other. */
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM);
	return RS_OK;
}

/* The file gets room up to `end`, and more. */
static enum rs_status
take_room(struct spill *s, uint64_t end)
{
	int error = 0;

	pthread_mutex_lock(&s->growth);
	while (error == 0 && atomic_load(&s->room) < end) {
		const uint64_t room = atomic_load(&s->room);

		if (fallocate(s->fd, 0, (off_t)room, (off_t)ROOM_STEP) == 0)
			atomic_store(&s->room, room + ROOM_STEP);
		else if (errno == EOPNOTSUPP || errno == ENOSYS)
			atomic_store(&s->room, ALL_ROOM);
		else if (errno != EINTR)
			error = errno;
	}
	pthread_mutex_unlock(&s->growth);
	return error == 0 ? RS_OK : fail_file(s, "write", error);
}

static off_t
offset_of(const struct spill *s, uint32_t place)
{
	return (off_t)((uint64_t)(place - 1) * s->settings.row_bytes);
}

static enum rs_status
write_row(struct spill *s, uint64_t i, const char *row)
{
	size_t done = 0;

	if (s->place[i] == 0) {
		const uint64_t place = atomic_fetch_add(&s->n_places, 1) + 1;
		const uint64_t end = place * s->settings.row_bytes;

		if (place > UINT32_MAX)
			return rs_fail(RS_ERESOURCE, "table '%s': more than %lu rows are not in "
				"memory", s->settings.name, (unsigned long)UINT32_MAX);
		if (end > atomic_load_explicit(&s->room, memory_order_relaxed))
			RS_TRY(take_room(s, end));
		s->place[i] = (uint32_t)place;
	}
	while (done < s->settings.row_bytes) {
		const ssize_t n = pwrite(s->fd, row + done, s->settings.row_bytes - done,
			offset_of(s, s->place[i]) + (off_t)done);

		if (n < 0 && errno != EINTR)
			return fail_file(s, "write", errno);
		done += n > 0 ? (size_t)n : 0;
	}
	return RS_OK;
}

/* is_late NULL: it waits for the disk, and so where the file system cannot tell. */
static enum rs_status
read_row(struct spill *s, uint32_t place, char *row, int *is_late)
{
	const off_t from = offset_of(s, place);
	size_t done = 0;

	while (done < s->settings.row_bytes) {
		const struct iovec to = { row + done, s->settings.row_bytes - done };
		const int soon = is_late != NULL;
		const ssize_t n = preadv2(s->fd, &to, 1, from + (off_t)done,
			soon ? RWF_NOWAIT : 0);

		if (soon && n < 0 && errno == EAGAIN) {
			(void)posix_fadvise(s->fd, from, (off_t)s->settings.row_bytes,
				POSIX_FADV_WILLNEED);
			*is_late = 1;
			return RS_OK;
		}
		if (soon && n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
			is_late = NULL;
			continue;
		}
		if (n < 0 && errno != EINTR)
			return fail_file(s, "read", errno);
		if (n == 0)
			return rs_fail(RS_EIO, "table '%s': the file of rows in '%s' was cut "
				"short", s->settings.name, s->directory);
		done += n > 0 ? (size_t)n : 0;
	}
	return RS_OK;
}

enum rs_status
spill_check(const struct spill *s)
{
	if (sync_file_range(s->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) == 0 || errno == ENOSYS
	    || errno == EINVAL || errno == ESPIPE)
		return RS_OK;
	return fail_file(s, "write", errno);
}

/* --- sets -------------------------------------------------------------------------- */

static inline struct set *
set_of(const struct spill *s, uint64_t i, uint16_t *tag)
{
	const uint64_t number = i / s->set_rows;

	*tag = (uint16_t)(i - number * s->set_rows);
	return &s->set[number];
}

static inline char *
row_at(const struct spill *s, const struct set *set, unsigned way)
{
	return s->row + ((size_t)(set - s->set) * SPILL_WAYS + way) * s->settings.row_bytes;
}

/* SPILL_WAYS: it is not in memory. */
static inline unsigned
find_way(const struct set *set, uint16_t tag)
{
	unsigned way = 0;

	while (way < SPILL_WAYS && set->tag[way] != tag)
		way++;
	return way;
}

/* The set of a row, locked; *way: where the row is in memory. */
static inline struct set *
lock_set(const struct spill *s, uint64_t i, unsigned *way)
{
	uint16_t tag;
	struct set *const set = set_of(s, i, &tag);

	pthread_mutex_lock(&set->lock);
	*way = find_way(set, tag);
	return set;
}

static unsigned
choose_way(struct set *set)
{
	for (;;) {
		const unsigned way = set->hand;
		const uint32_t bit = (uint32_t)1 << way;

		set->hand = (uint16_t)((way + 1) % SPILL_WAYS);
		if (set->tag[way] == NO_TAG || !(set->recent & bit))
			return way;
		set->recent &= ~bit;
	}
}

/* A way that nothing is in. */
static enum rs_status
free_way(struct spill *s, struct set *set, unsigned *out)
{
	const unsigned way = choose_way(set);
	const uint32_t bit = (uint32_t)1 << way;

	if (set->tag[way] != NO_TAG && set->changed & bit)
		RS_TRY(write_row(s, (uint64_t)(set - s->set) * s->set_rows + set->tag[way],
			row_at(s, set, way)));
	set->tag[way] = NO_TAG;
	set->changed &= ~bit;
	*out = way;
	return RS_OK;
}

/* A row that is not in memory comes there; it does not when out->row stays NULL. */
static enum rs_status
bring(struct spill *s, struct set *set, uint64_t i, unsigned how, struct spill_row *out)
{
	const uint32_t place = s->place[i];
	unsigned way;
	char *row;

	if (place == 0 && how & SPILL_KNOWN)
		return RS_OK;
	RS_TRY(free_way(s, set, &way));
	row = row_at(s, set, way);
	/* Rows may have bytes that no value is in: files of equal tables are equal. */
	if (how & SPILL_OVER || place == 0)
		memset(row, 0, s->settings.row_bytes);
	if (how & SPILL_OVER)
		;
	else if (place == 0)
		s->settings.start(s->settings.context, i, (float *)(void *)row);
	else
		RS_TRY(read_row(s, place, row, how & SPILL_SOON ? &out->is_late : NULL));
	if (out->is_late) {
		set->hand = (uint16_t)way;     /* nothing is there: who comes next has it */
		return RS_OK;
	}
	set->tag[way] = (uint16_t)(i % s->set_rows);
	set->held = (uint16_t)way;
	out->row = (float *)(void *)row;
	return RS_OK;
}

enum rs_status
spill_take(struct spill *s, uint64_t i, unsigned how, struct spill_row *out)
{
	unsigned way;
	struct set *const set = lock_set(s, i, &way);
	enum rs_status status = RS_OK;

	*out = (struct spill_row){ .row = NULL };
	if (way < SPILL_WAYS) {
		set->held = (uint16_t)way;
		out->row = (float *)(void *)row_at(s, set, way);
	} else {
		status = bring(s, set, i, how, out);
	}
	if (out->row == NULL)
		pthread_mutex_unlock(&set->lock);
	else
		set->recent |= (uint32_t)1 << set->held;
	return status;
}

void
spill_give(struct spill *s, uint64_t i, int is_changed)
{
	uint16_t tag;
	struct set *const set = set_of(s, i, &tag);

	if (is_changed) {
		set->changed |= (uint32_t)1 << set->held;
		if (!atomic_load_explicit(&s->is_used, memory_order_relaxed))
			atomic_store_explicit(&s->is_used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&set->lock);
}

enum rs_status
spill_copy(struct spill *s, uint64_t i, float *row)
{
	unsigned way;
	struct set *const set = lock_set(s, i, &way);
	enum rs_status status = RS_OK;

	if (way < SPILL_WAYS)
		memcpy(row, row_at(s, set, way), s->settings.row_bytes);
	else if (s->place[i] == 0)
		s->settings.start(s->settings.context, i, row);
	else
		status = read_row(s, s->place[i], (char *)row, NULL);
	pthread_mutex_unlock(&set->lock);
	return status;
}

void
spill_expect(struct spill *s, uint64_t i)
{
	unsigned way;
	struct set *const set = lock_set(s, i, &way);
	const uint32_t place = way < SPILL_WAYS ? 0 : s->place[i];

	pthread_mutex_unlock(&set->lock);
	if (place != 0)
		(void)posix_fadvise(s->fd, offset_of(s, place), (off_t)s->settings.row_bytes,
			POSIX_FADV_WILLNEED);
}

void
spill_prefetch(const struct spill *s, uint64_t i)
{
	uint16_t tag;
	const char *const set = (const char *)set_of(s, i, &tag);

	__builtin_prefetch(set, 1, 3);
	__builtin_prefetch(set + LINE, 1, 3);
	__builtin_prefetch(&s->place[i], 1, 3);
}

/* --- all of it --------------------------------------------------------------------- */

static void
empty_sets(struct spill *s)
{
	for (uint64_t i = 0; i < s->n_sets; i++) {
		struct set *const set = &s->set[i];

		set->changed = set->recent = 0;
		set->hand = 0;
		memset(set->tag, 0xff, sizeof(set->tag));
	}
}

void
spill_clear(struct spill *s)
{
	empty_sets(s);
	if (!atomic_load(&s->is_used))
		return;
	memset(s->place, 0, s->settings.n_rows * sizeof(*s->place));
	atomic_store(&s->n_places, 0);
	atomic_store(&s->is_used, 0);
}

/* A set is held for so short a time that who wants it had better not sleep. */
static void
init_locks(struct spill *s)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
	for (uint64_t i = 0; i < s->n_sets; i++)
		pthread_mutex_init(&s->set[i].lock, &kind);
	pthread_mutexattr_destroy(&kind);
}

static enum rs_status
open_blocks(struct spill *s)
{
	s->n_sets = count_sets(s->settings.n_rows, s->settings.row_bytes,
		s->settings.resident_bytes);
	if (s->settings.resident_bytes < spill_least(s->settings.n_rows, s->settings.row_bytes)
	    || s->n_sets == 0)
		return rs_fail(RS_ESPEC, "table '%s': %llu bytes in memory of %llu rows of %zu are "
			"too few, wanted %llu at least", s->settings.name,
			(unsigned long long)s->settings.resident_bytes,
			(unsigned long long)s->settings.n_rows, s->settings.row_bytes,
			(unsigned long long)spill_least(s->settings.n_rows, s->settings.row_bytes));
	s->set_rows = (s->settings.n_rows + s->n_sets - 1) / s->n_sets;
	s->set_bytes = s->n_sets * sizeof(*s->set);
	RS_TRY(size_mul(s->n_sets * SPILL_WAYS, s->settings.row_bytes, &s->row_bytes));
	RS_TRY(size_mul(s->settings.n_rows, sizeof(*s->place), &s->place_bytes));
	RS_TRY(large_alloc(s->set_bytes, &s->set));
	RS_TRY(large_alloc(s->row_bytes, &s->row));
	RS_TRY(large_alloc(s->place_bytes, &s->place));
	init_locks(s);
	empty_sets(s);
	return open_file(s);
}

enum rs_status
spill_open(const struct spill_settings *settings, struct spill **out)
{
	struct spill *s;
	enum rs_status status;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof(*s), &s));
	s->settings = *settings;
	s->fd = -1;
	pthread_mutex_init(&s->growth, NULL);
	status = memory_strdup(settings->directory != NULL ? settings->directory : SPILL_DEFAULT,
		&s->directory);
	if (status == RS_OK)
		status = open_blocks(s);
	if (status == RS_OK)
		*out = s;
	else
		spill_close(s);
	return status;
}

void
spill_close(struct spill *s)
{
	if (s == NULL)
		return;
	for (uint64_t i = 0; s->set != NULL && i < s->n_sets; i++)
		pthread_mutex_destroy(&s->set[i].lock);
	large_free(s->set, s->set_bytes);
	large_free(s->row, s->row_bytes);
	large_free(s->place, s->place_bytes);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->growth);
	free(s->directory);
	free(s);
}
