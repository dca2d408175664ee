/* The streaming estimate of item frequencies and its file. */
#include "train/frequency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"

static const char frequency_magic[8] = { 'R', 'S', 'F', 'R', 'E', 'Q', '0', '1' };

#define FIRST_ITEMS 1024

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
	size_t   n;                 /* 0: an item has a place of its own              */
	double   rate;
	uint64_t rows;              /* added so far                                   */
	struct place *place;        /* [n], or [capacity] in the order they came      */
	uint64_t *item;             /* [capacity] whose the places are, n_items of them */
	size_t   n_items, capacity;
	size_t  *find;              /* [2 capacity] 1 + number of a place, by linear probing; 0 */
	struct addition *addition;  /* [n_additions] a ring; NULL: none are remembered */
	size_t   n_additions, newest, n_held;
};

/* Places that are in use follow the head of the file, each with its number: n 0, with the
 * fingerprint of its item, in order of these. */
struct frequency_head {
	char     magic[8];
	uint64_t n, rows, n_used;
};

/* --- items with places of their own ----------------------------------------------------- */

/* Where 1 + the number of an item is, or would be. */
static size_t *
find_item(const struct frequency *f, uint64_t item)
{
	const size_t mask = 2 * f->capacity - 1;
	size_t at = hash_mix(item) & mask;

	while (f->find[at] != 0 && f->item[f->find[at] - 1] != item)
		at = (at + 1) & mask;
	return &f->find[at];
}

/* Twice as many places; capacities are powers of two. */
static enum rs_status
grow(struct frequency *f)
{
	const size_t capacity = f->capacity > 0 ? 2 * f->capacity : FIRST_ITEMS;
	struct place *const place = reallocarray(f->place, capacity, sizeof(*place));
	f->place = place != NULL ? place : f->place;
	uint64_t *const item = reallocarray(f->item, capacity, sizeof(*item));
	f->item = item != NULL ? item : f->item;

	if (place == NULL || item == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for the frequencies of %zu items",
			capacity);
	free(f->find);
	f->find = NULL;
	f->capacity = 0;
	RS_TRY(memory_alloc(2 * capacity, sizeof(*f->find), &f->find));
	f->capacity = capacity;
	for (size_t i = 0; i < f->n_items; i++)
		*find_item(f, f->item[i]) = i + 1;
	return RS_OK;
}

/* The number of an item's place, which is made if there is none. */
static enum rs_status
place_of(struct frequency *f, uint64_t item, size_t *number)
{
	if (f->n > 0) {
		*number = item % f->n;
		return RS_OK;
	}
	size_t *at = find_item(f, item);
	if (*at == 0 && f->n_items == f->capacity) {
		RS_TRY(grow(f));
		at = find_item(f, item);
	}
	if (*at == 0) {
		f->item[f->n_items] = item;
		f->place[f->n_items] = (struct place){ .last = 0 };
		*at = ++f->n_items;
	}
	*number = *at - 1;
	return RS_OK;
}

enum rs_status
frequency_create(size_t n, double rate, struct frequency **out)
{
	struct frequency *f;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*f), &f));
	f->n = n;
	f->rate = rate;
	status = n > 0 ? memory_alloc(n, sizeof(*f->place), &f->place) : grow(f);
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
	free(f->item);
	free(f->find);
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

enum rs_status
frequency_add(struct frequency *f, const uint64_t *item, size_t B)
{
	struct used_place *const former = remember(f, B);
	size_t number;

	for (size_t b = 0; b < B; b++) {
		RS_TRY(place_of(f, item[b], &number));
		if (former != NULL)
			former[b] = (struct used_place){ number, f->place[number] };
		add_row(f, &f->place[number]);
	}
	return RS_OK;
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
	const size_t *const at = f->n > 0 ? NULL : find_item(f, item);
	const struct place *const p = at == NULL ? &f->place[item % f->n]
		: *at > 0 ? &f->place[*at - 1] : NULL;

	return p == NULL || p->seen == 0 ? 0 : 1 / p->distance;
}

static int
compare_used(const void *a, const void *b)
{
	const uint64_t x = ((const struct used_place *)a)->number;
	const uint64_t y = ((const struct used_place *)b)->number;

	return (x > y) - (x < y);
}

/* The items that are in use, in order. */
static enum rs_status
sort_items(const struct frequency *f, struct used_place **out, size_t *n)
{
	*n = 0;
	RS_TRY(memory_alloc(f->n_items + 1, sizeof(**out), out));
	for (size_t i = 0; i < f->n_items; i++)
		if (f->place[i].seen > 0)
			(*out)[(*n)++] = (struct used_place){ f->item[i], f->place[i] };
	qsort(*out, *n, sizeof(**out), compare_used);
	return RS_OK;
}

static enum rs_status
save_items(const struct frequency *f, struct frequency_head *head, struct file_writer *w)
{
	struct used_place *used;
	size_t n;

	RS_TRY(sort_items(f, &used, &n));
	head->n_used = n;
	enum rs_status status = file_writer_write(w, head, sizeof(*head));
	if (status == RS_OK && n > 0)
		status = file_writer_write(w, used, n * sizeof(*used));
	free(used);
	return status;
}

enum rs_status
frequency_save(const struct frequency *f, struct file_writer *w)
{
	struct frequency_head head = { .n = f->n, .rows = f->rows };

	memcpy(head.magic, frequency_magic, sizeof(head.magic));
	if (f->n == 0)
		return save_items(f, &head, w);
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
	uint64_t former = 0;
	size_t number;

	if (map->size < sizeof(head))
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: only %zu bytes", map->size);
	memcpy(&head, map->data, sizeof(head));
	if (memcmp(head.magic, frequency_magic, sizeof(head.magic)) != 0)
		return rs_fail_at(RS_EDATA, path, 0, 0, "not a file of item frequencies");
	if ((head.n == 0) != (f->n == 0))
		return rs_fail_at(RS_ESPEC, path, 0, 0, "frequencies of %s, the spec has %s",
			head.n == 0 ? "items" : "buckets", f->n == 0 ? "items" : "buckets");
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
		if ((f->n > 0 ? used.number >= f->n : i > 0 && used.number <= former)
		    || used.place.seen == 0 || used.place.last > head.rows
		    || !(used.place.distance > 0))
			return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: item %zu", i);
		former = used.number;
		RS_TRY(place_of(f, used.number, &number));
		f->place[number] = used.place;
	}
	f->rows = head.rows;
	return RS_OK;
}

enum rs_status
frequency_load(struct frequency *f, const char *path)
{
	struct file_map map;

	RS_TRY(file_map_open(&map, path));
	if (f->n > 0)
		memset(f->place, 0, f->n * sizeof(*f->place));
	else
		memset(f->find, 0, 2 * f->capacity * sizeof(*f->find));
	f->n_items = 0;
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
