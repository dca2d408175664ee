/* The streaming estimate of item frequencies and its file. */
#include "train/frequency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

static const char frequency_magic[8] = { 'R', 'S', 'F', 'R', 'E', 'Q', '0', '1' };

struct place {
	uint64_t last;              /* row it was last seen in, from 1                */
	uint64_t seen;              /* how often                                      */
	double   distance;          /* mean between two rows                          */
};

struct used_place {
	uint64_t number;
	struct place place;
};

/* What a call of frequency_add() changed, in its order. */
struct addition {
	uint64_t rows;              /* before it                                      */
	struct used_place *former;  /* [capacity]                                     */
	size_t   n, capacity;
	int      is_known;          /* 0: there was no memory                         */
};

struct frequency {
	size_t   n;
	double   rate;
	uint64_t rows;              /* added so far                                   */
	struct place *place;        /* [n]                                            */
	struct addition *addition;  /* [n_additions] a ring; NULL: none are remembered */
	size_t   n_additions, newest, n_held;
};

/* Places that are in use follow the head of the file, each with its number. */
struct frequency_head {
	char     magic[8];
	uint64_t n, rows, n_used;
};

enum rs_status
frequency_create(size_t n, double rate, struct frequency **out)
{
	struct frequency *f;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*f), &f));
	f->n = n;
	f->rate = rate;
	status = memory_alloc(n, sizeof(*f->place), &f->place);
	if (status != RS_OK) {
		frequency_free(f);
		return status;
	}
	*out = f;
	return RS_OK;
}

void
frequency_free(struct frequency *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->n_additions; i++)
		free(f->addition[i].former);
	free(f->addition);
	free(f->place);
	free(f);
}

/* Algorithm 2 of Yi et al. 2019, B = (1 - alpha) B + alpha (t - A), A = t. */
static void
add_row(struct frequency *f, struct place *p)
{
	const uint64_t row = ++f->rows;

	p->seen++;
	p->distance += fmax(f->rate, 1 / (double)p->seen)
	    * ((double)(row - p->last) - p->distance);
	p->last = row;
}

static int
reserve(struct addition *a, size_t n)
{
	if (n <= a->capacity)
		return 1;
	free(a->former);
	a->former = NULL;
	a->capacity = 0;
	if (memory_alloc(n, sizeof(*a->former), &a->former) != RS_OK)
		return 0;
	a->capacity = n;
	return 1;
}

/* What B rows are about to change. */
static struct used_place *
remember(struct frequency *f, size_t B)
{
	struct addition *a;

	if (f->n_additions == 0)
		return NULL;
	f->newest = (f->newest + 1) % f->n_additions;
	f->n_held += f->n_held < f->n_additions;
	a = &f->addition[f->newest];
	a->rows = f->rows;
	a->n = B;
	a->is_known = reserve(a, B);
	return a->is_known ? a->former : NULL;
}

void
frequency_add(struct frequency *f, const uint64_t *item, size_t B)
{
	struct used_place *const former = remember(f, B);

	for (size_t b = 0; b < B; b++) {
		struct place *const p = &f->place[item[b] % f->n];

		if (former != NULL)
			former[b] = (struct used_place){ item[b] % f->n, *p };
		add_row(f, p);
	}
}

enum rs_status
frequency_remember(struct frequency *f, size_t n)
{
	struct addition *addition;

	RS_TRY(memory_alloc(n, sizeof(*addition), &addition));
	for (size_t i = 0; i < f->n_additions; i++)
		free(f->addition[i].former);
	free(f->addition);
	f->addition = addition;
	f->n_additions = n;
	f->newest = f->n_held = 0;
	return RS_OK;
}

uint64_t
frequency_rows(const struct frequency *f)
{
	return f->rows;
}

enum rs_status
frequency_take_back(struct frequency *f, uint64_t rows)
{
	while (f->rows > rows && f->n_held > 0 && f->addition[f->newest].is_known) {
		const struct addition *const a = &f->addition[f->newest];

		for (size_t i = a->n; i-- > 0;)
			f->place[a->former[i].number] = a->former[i].place;
		f->rows = a->rows;
		f->newest = (f->newest + f->n_additions - 1) % f->n_additions;
		f->n_held--;
	}
	if (f->rows != rows)
		return rs_fail(RS_EUNMET, "the frequencies of items after row %" PRIu64
			" are forgotten", rows);
	return RS_OK;
}

double
frequency_share(const struct frequency *f, uint64_t item)
{
	const struct place *p = &f->place[item % f->n];

	return p->seen == 0 ? 0 : 1 / p->distance;
}

enum rs_status
frequency_save(const struct frequency *f, struct file_writer *w)
{
	struct frequency_head head = { .n = f->n, .rows = f->rows };

	memcpy(head.magic, frequency_magic, sizeof(head.magic));
	for (size_t i = 0; i < f->n; i++)
		head.n_used += f->place[i].seen > 0;
	RS_TRY(file_writer_write(w, &head, sizeof(head)));
	for (size_t i = 0; i < f->n; i++) {
		const struct used_place used = { .number = i, .place = f->place[i] };

		if (used.place.seen > 0)
			RS_TRY(file_writer_write(w, &used, sizeof(used)));
	}
	return RS_OK;
}

static enum rs_status
read_places(struct frequency *f, const struct file_map *map, const char *path)
{
	struct frequency_head head;
	struct used_place used;

	if (map->size < sizeof(head))
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: only %zu bytes", map->size);
	memcpy(&head, map->data, sizeof(head));
	if (memcmp(head.magic, frequency_magic, sizeof(head.magic)) != 0)
		return rs_fail_at(RS_EDATA, path, 0, 0, "not a file of item frequencies");
	if (head.n != f->n)
		return rs_fail_at(RS_ESPEC, path, 0, 0,
			"frequencies of %" PRIu64 " items, the spec has %zu buckets of them",
			head.n, f->n);
	if ((map->size - sizeof(head)) / sizeof(used) != head.n_used
	    || (map->size - sizeof(head)) % sizeof(used) != 0)
		return rs_fail_at(RS_EDATA, path, 0, 0,
			"damaged: %zu bytes do not hold %" PRIu64 " items", map->size, head.n_used);
	for (size_t i = 0; i < head.n_used; i++) {
		memcpy(&used, map->data + sizeof(head) + i * sizeof(used), sizeof(used));
		if (used.number >= f->n || used.place.seen == 0 || used.place.last > head.rows
		    || !(used.place.distance > 0))
			return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: item %zu", i);
		f->place[used.number] = used.place;
	}
	f->rows = head.rows;
	return RS_OK;
}

enum rs_status
frequency_load(struct frequency *f, const char *path)
{
	struct file_map map;

	RS_TRY(file_map_open(&map, path));
	memset(f->place, 0, f->n * sizeof(*f->place));
	const enum rs_status status = read_places(f, &map, path);
	file_map_close(&map);
	return status;
}

enum rs_status
frequency_restore(struct frequency *f, const struct manifest *manifest, const char *version)
{
	char *path;

	if (f == NULL)
		return RS_OK;
	if (!manifest_has(manifest, FREQUENCY_FILE)) {
		log_warn("'%s' has no frequencies of items: they are counted anew", version);
		return RS_OK;
	}
	RS_TRY(file_join(version, FREQUENCY_FILE, &path));
	const enum rs_status status = frequency_load(f, path);
	free(path);
	return status;
}
