/* What the tests of the loader share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "tests/data/loader_bed.h"

static char directory[] = "/tmp/loader_test.XXXXXX";

/* ---- files ------------------------------------------------------------- */

/* label, id, row number, list, weight */
size_t
bed_make_rows(char *out, uint64_t first, uint64_t n, unsigned bad_every, unsigned zero_every)
{
	size_t at = 0;

	for (uint64_t i = first; i < first + n; i++) {
		const int bad = bad_every > 0 && i % bad_every == bad_every - 1;
		const int zero = zero_every > 0 && i % zero_every == zero_every - 1;

		at += (size_t)snprintf(out + at, ROW_MAX, "%s\tid%u\t%u\t", bad ? "what" : i % 3
			? "0" : "1",
			(unsigned)rng_below(3, i, 50), (unsigned)i);
		for (uint64_t k = 0; k < i % 4; k++)
			at += (size_t)snprintf(out + at, ROW_MAX, "%st%u", k > 0 ? "|" : "",
				(unsigned)rng_below(4, 5 * i + k, 20));
		at += (size_t)snprintf(out + at, ROW_MAX, "\t%d\n", zero ? 0 : 1);
	}
	return at;
}

const char *
bed_path(const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

void
bed_write_text(const char *name, const char *text, size_t n)
{
	assert_int_equal(file_replace(bed_path(name), text, n), RS_OK);
}

void
bed_write_rows(const char *name, uint64_t first, uint64_t n, unsigned bad_every,
	unsigned zero_every)
{
	char *text = malloc(((size_t)n + 4) * ROW_MAX);

	bed_write_text(name, text, bed_make_rows(text, first, n, bad_every, zero_every));
	free(text);
}

void
bed_write_gzip(const char *name, uint64_t first, uint64_t n)
{
	char *text = malloc(((size_t)n + 4) * ROW_MAX);
	const size_t size = bed_make_rows(text, first, n, 0, 0);
	gzFile file = gzopen(bed_path(name), "wb");

	assert_int_equal(gzwrite(file, text, (unsigned)size), size);
	assert_int_equal(gzclose(file), Z_OK);
	free(text);
}

int
bed_setup(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR);
	return mkdtemp(directory) == NULL ? -1 : 0;
}

int
bed_teardown(void **state)
{
	(void)state;
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

/* ---- a loader and what it gave ----------------------------------------- */

/* From a file, because paths in a spec are relative to it. */
static void
load_spec(const char *text, struct spec **out)
{
	const char *layer = bed_path("spec.ini");
	const struct spec_input input = { .layer = &layer, .n_layers = 1 };

	bed_write_text("spec.ini", text, strlen(text));
	if (spec_load(&input, out) != RS_OK)
		fail_msg("%s", spec_problem(*out, 0)->text);
}

/* train: patterns, or "run COMMAND". */
void
bed_make(struct bed *bed, const char *train, const char *more)
{
	const int is_command = strncmp(train, "run ", 4) == 0;
	char text[4096];

	(void)snprintf(text, sizeof text,
		"[model]\ntype = deepfm\n"
		"[data]\n%s = %s\nformat = tsv\nlabel = 1\nweight = 5\n"
		"row_group = 1000\nshuffle_window = 5000\n%s\n"
		"[field id]\ncolumn = 2\nbuckets = 1000\n"
		"[field row]\ncolumn = 3\ntype = numeric\n"
		"[field list]\ncolumn = 4\ntype = multi\nbuckets = 100\n",
		is_command ? "command" : "train", is_command ? train + 4 : train, more);
	bed_make_of(bed, text);
}

/* From the text of a spec. */
void
bed_make_of(struct bed *bed, const char *text)
{
	load_spec(text, &bed->spec);
	assert_int_equal(schema_build(spec_settings(bed->spec), &bed->schema), RS_OK);
	bed->options = (struct loader_options){
		.schema = &bed->schema, .files = &spec_settings(bed->spec)->data.train,
		.command = spec_settings(bed->spec)->data.command, .purpose = PARSE_TRAIN,
		.batch_size = 37, .shuffle = 1, .seed = 11, .epochs = 2, .n_threads = 2,
	};
	bed->loader = NULL;
}

void
bed_free(struct bed *bed)
{
	loader_close(bed->loader);
	schema_free(&bed->schema);
	spec_free(bed->spec);
}

static uint64_t
mix(uint64_t h, const void *bytes, size_t n)
{
	return hash_cat(h, hash_fingerprint64(bytes, n));
}

static uint64_t
candidates_digest(const struct batch *b)
{
	const struct batch_candidates *c = b->candidates;
	uint64_t h;

	if (c == NULL)
		return 0;
	h = mix(hash_cat(c->M, c->n), c->number, c->M * sizeof *c->number);
	h = mix(h, c->positive, b->B * sizeof *c->positive);
	h = mix(h, c->items->item, c->M * sizeof *c->items->item);
	for (size_t f = 0; f < b->F; f++)
		if (c->items->column[f].offset == NULL)
			h = mix(h, c->items->column[f].ids, c->M * sizeof(uint64_t));
	if (c->negative != NULL)
		h = mix(h, c->negative, b->B * c->n * sizeof *c->negative);
	if (c->drawn != NULL)
		h = mix(mix(h, c->drawn, c->M), c->log_q, c->M * sizeof *c->log_q);
	return h;
}

static uint64_t
batch_digest(const struct batch *b)
{
	uint64_t h = hash_cat(b->B, b->first_row);

	h = hash_cat(h, hash_cat(b->drawn, candidates_digest(b)));
	h = hash_cat(hash_cat(h, b->epoch), (uint64_t)b->last);
	h = mix(h, b->label, b->B * sizeof *b->label);
	h = mix(h, b->weight, b->B * sizeof *b->weight);
	if (b->group != NULL)
		h = mix(h, b->group, b->B * sizeof *b->group);
	if (b->item != NULL)
		h = mix(h, b->item, b->B * sizeof *b->item);
	h = mix(h, b->dense, b->B * b->K * sizeof *b->dense);
	h = mix(h, b->missing, b->B * b->K);
	for (size_t f = 0; f < b->F; f++) {
		h = mix(h, b->column[f].ids, b->column[f].N * sizeof *b->column[f].ids);
		if (b->column[f].offset != NULL)
			h = mix(h, b->column[f].offset, (b->B + 1) * sizeof *b->column[f].offset);
	}
	return h;
}

/* Takes up to `most` batches. */
void
bed_take(struct loader *loader, struct trace *t, size_t most)
{
	const struct batch *batch;

	t->n = 0;
	while (t->n < most) {
		t->status = loader_next(loader, &batch, NULL);
		if (t->status != RS_OK || batch == NULL)
			break;
		assert_true(batch->B > 0);
		t->digest[t->n] = batch_digest(batch);
		loader_position(loader, &t->position[t->n++]);
	}
	loader_tally(loader, &t->tally);
}

void
bed_open(struct bed *bed)
{
	loader_close(bed->loader);
	bed->loader = NULL;
	assert_int_equal(loader_open(&bed->options, &bed->loader), RS_OK);
}

void
bed_run(struct bed *bed, struct trace *t)
{
	bed_open(bed);
	bed_take(bed->loader, t, MAX_BATCHES);
}

void
bed_assert_same(const struct trace *a, size_t from, const struct trace *b)
{
	assert_int_equal(a->n - from, b->n);
	assert_int_equal(a->status, b->status);
	assert_memory_equal(a->digest + from, b->digest, b->n * sizeof *b->digest);
}

/* Numbers of the rows in the order they came; returns how many. */
size_t
bed_row_order(struct loader *loader, unsigned *out, size_t room)
{
	const struct batch *batch;
	size_t n = 0;

	for (;;) {
		assert_int_equal(loader_next(loader, &batch, NULL), RS_OK);
		if (batch == NULL)
			return n;
		for (size_t b = 0; b < batch->B && n < room; b++)
			out[n++] = (unsigned)batch->dense[b * batch->K];
	}
}

void
bed_write_three(void)
{
	bed_write_rows("a.tsv", 0, 400, 0, 0);
	bed_write_gzip("b.tsv", 400, 300);
	bed_write_rows("c.tsv", 700, 200, 0, 0);
}
