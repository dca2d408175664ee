/*
 * The catalogue: every item of the training rows once, with its features.
 *
 * Item i has the key `key[i]` (Fingerprint64 of the cell of items.key, as in
 * batch.item), the text of that cell, the number of training rows it is in, and
 * row i of `items`, a batch in which only the columns of items.fields are filled.
 * Numbers follow the first appearance in file order, so they are a pure function
 * of the files.  When rows of one item differ in their fields the first counts.
 * It is saved with every version of the model; read-only once built.
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
	uint32_t *slot;            /* hash index of key, private                     */
	size_t    n_slots;
};

/* 1 when the spec needs one: full_softmax, drawn negatives, catalogue ranking. */
int catalogue_needed(const struct settings *settings);
/* Reads the files once. */
enum rs_status catalogue_build(
	const struct schema *schema, const struct text_list *files, struct catalogue **out);
void catalogue_free(struct catalogue *c);
/* Number of the item, CATALOGUE_NONE when it is not there. */
uint32_t catalogue_find(const struct catalogue *c, uint64_t key);
enum rs_status catalogue_save(const struct catalogue *c, struct file_writer *w);
enum rs_status catalogue_load(
	const struct schema *schema, const char *path, struct catalogue **out);

#endif
