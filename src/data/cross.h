/*
 * Crosses: the combinations of other fields of a row, hashed as TensorFlow does
 * (tf.sparse.cross_hashed, Keras HashedCrossing, default key).
 *
 * The parts of a cross keep their values of the row: Fingerprint64 of the text, an
 * id of id_type = int or the interval of a number as they are.  A row gets one id
 * for every combination of its parts' items, the last part varying fastest; a row
 * in which a part has no value gets the missing row of the cross.
 */
#ifndef DATA_CROSS_H
#define DATA_CROSS_H

#include "base/status.h"
#include "data/batch.h"
#include "data/feature.h"

#define CROSS_KEY 0xDECAFCAFFEu
#define CROSS_MOST ((size_t)1 << 16)   /* combinations in a row                      */

struct cross;

struct crosses {
	struct cross *cross;           /* [n]                                        */
	size_t n;
	struct cross_values *values;   /* [n_fields] of the row being read           */
	size_t n_fields;
};

/* Looks up the parts; their features keep values from now on. */
enum rs_status crosses_init(
	struct crosses *c, const struct schema *schema, struct feature *feature);
void crosses_free(struct crosses *c);
/* Before the first cell of a row. */
void crosses_begin_row(struct crosses *c);
/* After the last.  RS_EDATA: a bad row, with *error filled. */
enum rs_status crosses_end_row(const struct crosses *c, const char *row, struct batch *batch,
	struct cell_error *error);

#endif
