/* The files of a ledger, and how to find them: by inode, by name, by first bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "train/intake_private.h"

uint64_t
intake_past_key_path(const char *path)
{
	return hash_fingerprint64(path, strlen(path));
}

uint64_t
intake_past_key_head(uint32_t bytes, uint32_t head)
{
	return (uint64_t)bytes << 32 | head;
}

/* Entries without a number are of one file when their names are. */
static uint64_t
key_of_file(const struct ledger_entry *e)
{
	return e->file != 0 ? e->file : intake_past_key_path(e->path) | (uint64_t)1 << 63;
}

static int
same_file(const struct ledger_entry *a, const struct ledger_entry *b)
{
	return a->file == b->file && (a->file != 0 || strcmp(a->path, b->path) == 0);
}

const struct ledger_entry *
intake_past_latest(const struct intake_past *past, const struct intake_known *known)
{
	return &past->ledger->entry[known->last];
}

static void
add_entry(struct intake_past *past, struct intake_map *by_file, size_t i)
{
	const struct ledger_entry *const e = &past->ledger->entry[i];
	size_t k = intake_map_find(by_file, key_of_file(e));

	past->next[i] = INTAKE_NONE;
	while (k != INTAKE_NONE && !same_file(e, intake_past_latest(past, &past->known[k])))
		k = intake_map_next(by_file, k);
	if (k == INTAKE_NONE) {
		k = past->n++;
		intake_map_add(by_file, key_of_file(e), k);
		past->known[k].first = i;
	} else {
		past->next[past->known[k].last] = i;
	}
	past->known[k].last = i;
	if (e->file > past->last_file)
		past->last_file = e->file;
}

static int
size_order(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
index_known(struct intake_past *past)
{
	size_t n = 0;

	for (size_t k = 0; k < past->n; k++) {
		const struct ledger_entry *const e = intake_past_latest(past, &past->known[k]);

		intake_map_add(&past->by_path, intake_past_key_path(e->path), k);
		if (e->inode != 0)
			intake_map_add(&past->by_inode, e->inode, k);
		if (e->head_bytes == 0)
			continue;
		intake_map_add(&past->by_head, intake_past_key_head(e->head_bytes, e->head), k);
		past->head_bytes[past->n_heads++] = e->head_bytes;
	}
	qsort(past->head_bytes, past->n_heads, sizeof *past->head_bytes, size_order);
	for (size_t i = 0; i < past->n_heads; i++)
		if (i == 0 || past->head_bytes[i] != past->head_bytes[i - 1])
			past->head_bytes[n++] = past->head_bytes[i];
	past->n_heads = n;
}

enum rs_status
intake_past_make(const struct ledger *ledger, struct intake_past *out)
{
	const size_t n = ledger->n;
	struct intake_map by_file = { .mask = 0 };
	enum rs_status status;

	out->ledger = ledger;
	RS_TRY(memory_alloc(n + 1, sizeof *out->next, &out->next));
	RS_TRY(memory_alloc(n + 1, sizeof *out->known, &out->known));
	RS_TRY(memory_alloc(n + 1, sizeof *out->head_bytes, &out->head_bytes));
	RS_TRY(intake_map_init(&out->by_inode, n));
	RS_TRY(intake_map_init(&out->by_path, n));
	RS_TRY(intake_map_init(&out->by_head, n));
	status = intake_map_init(&by_file, n);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		add_entry(out, &by_file, i);
	intake_map_free(&by_file);
	if (status == RS_OK)
		index_known(out);
	return status;
}

void
intake_past_free(struct intake_past *past)
{
	free(past->next);
	free(past->known);
	free(past->head_bytes);
	intake_map_free(&past->by_inode);
	intake_map_free(&past->by_path);
	intake_map_free(&past->by_head);
}

int64_t
intake_past_period(const struct intake_past *past, const struct intake_known *known)
{
	int64_t newest = LEDGER_NO_PERIOD;

	for (size_t i = known->first; i != INTAKE_NONE; i = past->next[i])
		if (past->ledger->entry[i].period > newest)
			newest = past->ledger->entry[i].period;
	return newest;
}

/* --- coverage ---------------------------------------------------------------- */

static int
range_order(const void *a, const void *b)
{
	const struct range *const x = a, *const y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static size_t
list_ranges(const struct intake_past *past, const struct intake_known *known,
	struct range *out)
{
	size_t n = 0;

	for (size_t i = known->first; i != INTAKE_NONE; i = past->next[i]) {
		const struct ledger_entry *const e = &past->ledger->entry[i];

		if (e->ranges.n == 0 && out != NULL)
			out[n] = (struct range){ 0, e->text != 0 ? e->text : RANGE_END };
		n += e->ranges.n == 0;
		for (size_t r = 0; r < e->ranges.n; r++, n++)
			if (out != NULL)
				out[n] = e->ranges.item[r];
	}
	return n;
}

enum rs_status
intake_past_cover(const struct intake_past *past, const struct intake_known *known,
	struct range_list *out)
{
	const size_t n = list_ranges(past, known, NULL);
	struct range *range;
	enum rs_status status = RS_OK;

	range_list_free(out);
	RS_TRY(memory_alloc(n + 1, sizeof *range, &range));
	(void)list_ranges(past, known, range);
	qsort(range, n, sizeof *range, range_order);
	for (size_t i = 0; i < n && status == RS_OK; i++) {
		struct range *const last = out->n > 0 ? &out->item[out->n - 1] : NULL;

		if (last == NULL || range[i].begin > last->end)
			status = range_list_add(out, range[i].begin, range[i].end);
		else if (range[i].end > last->end)
			last->end = range[i].end;
	}
	free(range);
	return status;
}
