/*
 * The catalogue: every item of the training rows once, with its features.
 *
 * Item i has the key `key[i]` (Fingerprint64 of the cell of items.key, as in
 * batch.item), the text of that cell, the number of training rows it is in, and
 * row i of `items`, a batch in which only the columns of items.fields have values;
 * all others are as if missing.  Numbers follow the first appearance in file order,
 * so they are a pure function of the files.  When rows of one item differ in their
 * fields the first counts.  It is saved with every version of the model; read-only
 * once built.
 */
#ifndef DATA_CATALOGUE_H
#define DATA_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "data/batch.h"
#include "data/schema.h"

#define CATALOGUE_NONE UINT32_MAX

struct catalogue {
	size_t    n;
	uint64_t *key;             /* [n]                                            */
	uint64_t *rows;            /* [n] training rows                              */
	char     *text;            /* names, one after the other                     */
	uint64_t *text_end;        /* [n] name i is text[text_end[i-1] .. text_end[i]) */
	struct batch items;        /* [n]                                            */
	uint32_t *slot;            /* [n_slots] hash index of key, private           */
	size_t    n_slots;         /* a power of two                                 */
	size_t    capacity;        /* of key, rows, text_end                         */
};

/* 1 when training makes one: drawn negatives, full_softmax, two_tower or catalogue
 * ranking, unless the rows are a stream, which is read only once. */
int catalogue_needed(const struct settings *settings);
/* Reads the files once.  base, taken and may be NULL: its items keep their numbers,
 * those that are new come behind them. */
enum rs_status catalogue_build(const struct schema *schema, const struct text_list *files,
	struct catalogue *base, struct catalogue **out);
void catalogue_free(struct catalogue *c);
/* Number of the item, CATALOGUE_NONE when it is not there. */
uint32_t catalogue_find(const struct catalogue *c, uint64_t key);
/* Counts a row of the item and gives its number; a new item needs a row of `items`. */
enum rs_status catalogue_count(
	struct catalogue *c, uint64_t key, uint64_t rows, uint32_t *number, int *is_new);
/* Name of item i: *n bytes, without an end. */
const char *catalogue_name(const struct catalogue *c, size_t i, size_t *n);

enum rs_status catalogue_save(
	const struct catalogue *c, const struct schema *schema, struct file_writer *w);
/* RS_ESPEC when the saved items have other fields. */
enum rs_status catalogue_load(
	const struct schema *schema, const char *path, struct catalogue **out);
/* How many items a file has. */
enum rs_status catalogue_peek(const char *path, uint64_t *n);

#endif
