/* tf.Example from the wire. */
#include "data/example_wire.h"

#include <string.h>

#define FIRST  0x0a                    /* tags: field 1, 2, 3, of bytes               */
#define SECOND 0x12
#define THIRD  0x1a
#define FLOAT  0x0d                    /* field 1, a float                            */
#define VARINT 0x08                    /* field 1, a varint                           */
#define VARINT_MAX 10                  /* bytes                                       */
#define LENGTH_MAX 4

/* The bytes of a varint that begins there; 0: it does not end in `most` bytes. */
static size_t
read_varint(const struct example_wire *w, size_t most, uint64_t *out)
{
	const size_t left = (size_t)(w->end - w->at);

	*out = 0;
	for (size_t i = 0; i < most && i < left; i++) {
		*out |= (uint64_t)(w->at[i] & 0x7f) << 7 * i;
		if (w->at[i] < 0x80)
			return i + 1;
	}
	return 0;
}

/* A tag and what has so many bytes, of which there are mostly less than 128. */
static inline int
read_part(struct example_wire *w, uint8_t tag, struct example_wire *part)
{
	uint64_t n;
	size_t used = 1;

	if (w->end - w->at < 2 || *w->at != tag)
		return 0;
	w->at++;
	n = *w->at;
	if (n >= 0x80)
		used = read_varint(w, LENGTH_MAX, &n);
	w->at += used;
	if (used == 0 || n > (uint64_t)(w->end - w->at))
		return 0;
	*part = (struct example_wire){ w->at, w->at + n };
	w->at += n;
	return 1;
}

/* The same, and nothing behind it. */
static inline int
read_whole(struct example_wire w, uint8_t tag, struct example_wire *part)
{
	return read_part(&w, tag, part) && w.at == w.end;
}

int
example_wire_open(const void *data, size_t n, struct example_wire *entries)
{
	const uint8_t *const at = data;

	return read_whole((struct example_wire){ at, at + n }, FIRST, entries);
}

int
example_wire_next(struct example_wire *entries, ProtobufCBinaryData *key,
	struct example_wire *feature)
{
	struct example_wire entry, name;

	if (!read_part(entries, FIRST, &entry) || !read_part(&entry, FIRST, &name)
	    || !read_whole(entry, SECOND, feature))
		return 0;
	*key = (ProtobufCBinaryData){ (size_t)(name.end - name.at), (uint8_t *)(uintptr_t)name.at };
	return 1;
}

/* Room for n values: that of the one, or of memory. */
static void *
room_of(struct example_value *v, size_t n, size_t size, ProtobufCAllocator *memory)
{
	return n == 1 ? &v->one : memory->alloc(memory->allocator_data, n * size);
}

static int
take_bytes(struct example_value *v, ProtobufCBinaryData *value, size_t n)
{
	v->list.bytes.n_value = n;
	v->list.bytes.value = value;
	v->feature.kind_case = TF_EXAMPLE__FEATURE__KIND_BYTES;
	v->feature.bytes = &v->list.bytes;
	return 1;
}

static int
read_bytes(struct example_wire w, ProtobufCAllocator *memory, struct example_value *v)
{
	struct example_wire each = w, part;
	size_t n = 0;

	if (read_whole(w, FIRST, &part)) {
		v->one.bytes = (ProtobufCBinaryData){ (size_t)(part.end - part.at),
			(uint8_t *)(uintptr_t)part.at };
		return take_bytes(v, &v->one.bytes, 1);
	}
	for (; each.at < each.end; n++)
		if (!read_part(&each, FIRST, &part))
			return 0;
	ProtobufCBinaryData *const to = n > 0 ? room_of(v, n, sizeof *to, memory) : NULL;
	if (to == NULL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		(void)read_part(&w, FIRST, &part);
		to[i] = (ProtobufCBinaryData){ (size_t)(part.end - part.at),
			(uint8_t *)(uintptr_t)part.at };
	}
	return take_bytes(v, to, n);
}

static float
float_at(const uint8_t *p)
{
	const uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16
		| (uint32_t)p[3] << 24;
	float x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static int
read_floats(struct example_wire w, ProtobufCAllocator *memory, struct example_value *v)
{
	struct example_wire packed;

	if (w.end - w.at == 1 + (ptrdiff_t)sizeof(float) && *w.at == FLOAT)
		packed = (struct example_wire){ w.at + 1, w.end };
	else if (!read_whole(w, FIRST, &packed))
		return 0;
	const size_t bytes = (size_t)(packed.end - packed.at), n = bytes / sizeof(float);
	float *const to = n > 0 && bytes % sizeof(float) == 0
		? room_of(v, n, sizeof *to, memory) : NULL;
	if (to == NULL)
		return 0;
	for (size_t i = 0; i < n; i++)
		to[i] = float_at(packed.at + i * sizeof(float));
	v->list.floats.n_value = n;
	v->list.floats.value = to;
	v->feature.kind_case = TF_EXAMPLE__FEATURE__KIND_FLOATS;
	v->feature.floats = &v->list.floats;
	return 1;
}

static int
read_integers(struct example_wire w, ProtobufCAllocator *memory, struct example_value *v)
{
	const int is_alone = w.at < w.end && *w.at == VARINT;
	struct example_wire packed;
	uint64_t value;
	size_t n = 0;

	if (is_alone)
		packed = (struct example_wire){ w.at + 1, w.end };
	else if (!read_whole(w, FIRST, &packed))
		return 0;
	for (const uint8_t *p = packed.at; p < packed.end; p++)
		n += *p < 0x80;
	if (is_alone && n != 1)
		return 0;
	int64_t *const to = n > 0 ? room_of(v, n, sizeof *to, memory) : NULL;
	if (to == NULL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const size_t used = read_varint(&packed, VARINT_MAX, &value);

		if (used == 0)
			return 0;
		packed.at += used;
		to[i] = (int64_t)value;
	}
	v->list.integers.n_value = n;
	v->list.integers.value = to;
	v->feature.kind_case = TF_EXAMPLE__FEATURE__KIND_INTEGERS;
	v->feature.integers = &v->list.integers;
	return packed.at == packed.end;
}

int
example_wire_value(struct example_wire feature, ProtobufCAllocator *memory,
	struct example_value *out)
{
	struct example_wire list;

	if (feature.at == feature.end)
		return 0;
	if (!read_whole(feature, *feature.at, &list))
		return 0;
	switch (*feature.at) {
	case FIRST:
		return read_bytes(list, memory, out);
	case SECOND:
		return read_floats(list, memory, out);
	case THIRD:
		return read_integers(list, memory, out);
	default:
		return 0;
	}
}
