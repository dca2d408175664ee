/*
 * The schema: what each field of the spec becomes in a batch.
 *
 * A numeric field is one column of batch.dense, or (bucketize) an id column.
 * Every other field is an id column with a table; fields that `share` name the
 * same table.  Built once from settings; read-only after; borrows their strings.
 */
#ifndef DATA_SCHEMA_H
#define DATA_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"

struct schema_field {
	const struct field_settings *settings;
	const char *name;
	int    is_dense;           /* 1: index is a dense column, 0: an id column    */
	size_t index;
	size_t table;              /* id columns                                     */
	size_t dim;                /* width of its vector, numeric fields included   */
	int    single;             /* id columns: exactly one id a row               */
};

/* Of an exact table, and of one of several rounds: a fingerprint divided by it is itself, and
 * the id for "missing" is one that no fingerprint leaves. */
#define SCHEMA_EXACT_BUCKETS (UINT64_MAX - 1)

struct schema_table {
	const char *name;          /* of the first field that uses it                */
	enum table_kind kind;
	uint64_t    buckets;       /* ids of a batch are below; this one is "missing" */
	uint64_t    rows;          /* that values have; the row behind them is "missing" */
	size_t      rounds;        /* rows of a value, see data/hash_stack.h         */
	size_t      dim;
	const struct field_settings *settings;
};

struct schema {
	const struct settings *settings;
	struct schema_field *field;    /* [n_fields] spec order                      */
	size_t n_fields;
	struct schema_table *table;    /* [n_tables]                                 */
	size_t n_tables;
	size_t *column_field;          /* [F] id column -> field                     */
	size_t F;                      /* id columns                                 */
	size_t *dense_field;           /* [K] dense column -> field                  */
	size_t K;
	int    has_group;              /* batch.group is filled                      */
	int    has_time;               /* batch.time is filled                       */
	int    predicts_groups;        /* set by who wants batch.group of PARSE_PREDICT */
	size_t item_field;             /* items.key; n_fields: batch.item is NULL    */
	uint8_t *of_item;              /* [F+K] id columns, then dense columns: 1 =
	                                  of a field in items.fields                 */
};

enum rs_status schema_build(const struct settings *settings, struct schema *out);
void schema_free(struct schema *schema);
/* 1 when every id of an id column, that for "missing" too, is less than 2^32. */
int schema_has_short_ids(const struct schema *schema, size_t column);

#endif
