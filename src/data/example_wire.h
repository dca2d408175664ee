/*
 * A tf.Example as nearly all writers make it, read from the wire without making messages.
 *
 *     example: 0a N features;  features: (0a N entry)*;  entry: 0a N key, 12 N feature
 *     feature: 0a N (0a N bytes)*  |  12 N 0a N float*  |  1a N 0a N varint*
 *
 * or one number that is not packed.  All else that a message may be, in another order, twice,
 * without values or damaged, is not plain: who reads asks protobuf-c.  Nothing is copied but
 * lists of values, which are taken from `memory`.
 */
#ifndef DATA_EXAMPLE_WIRE_H
#define DATA_EXAMPLE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "data/tf_example.pb-c.h"

struct example_wire {
	const uint8_t *at, *end;
};

/* A feature and what it points to. */
struct example_value {
	TfExample__Feature feature;
	union {
		TfExample__Bytes bytes;
		TfExample__Floats floats;
		TfExample__Integers integers;
	} list;
	union {
		ProtobufCBinaryData bytes;
		float number;
		int64_t integer;
	} one;                         /* the value, if it is the only one            */
};

/* 0: it is not plain.  *entries is then the place of the first. */
int example_wire_open(const void *data, size_t n, struct example_wire *entries);
/* The next entry and the feature in it; 0: it is not plain.  entries->at < entries->end. */
int example_wire_next(struct example_wire *entries, ProtobufCBinaryData *key,
	struct example_wire *feature);
/* 0: it is not plain, or there is no memory.  *out must stay where it is. */
int example_wire_value(struct example_wire feature, ProtobufCAllocator *memory,
	struct example_value *out);

#endif
