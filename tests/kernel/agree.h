/*
 * Buffers in pairs: one for the reference kernel, an equal one for the kernel
 * under test.  Buffers have exactly the size asked for, so that a checker of
 * memory sees what lies outside.  agree_end() compares all pairs and frees them.
 */
#ifndef TESTS_KERNEL_AGREE_H
#define TESTS_KERNEL_AGREE_H

#include <stddef.h>
#include <stdint.h>

enum { AGREE_MAX_PAIRS = 12, AGREE_MAX_BYTES = 12 };

/* Where the kernel under test reads and writes; the host may touch it after wait(). */
struct agree_memory {
	void *(*take)(size_t bytes);
	void  (*wait)(void);
	void  (*reset)(void);          /* nothing that was taken is in use any more        */
};

/* Rows and columns that are no multiple of anything; 0: shapes are drawn. */
struct agree_shape { size_t rows, columns; };

struct agree {
	const char *kernel, *set;
	uint64_t key, counter;
	struct agree_shape shape;
	int is_odd;                    /* shapes are those of shape                        */
	const struct agree_memory *memory;   /* NULL: that of malloc                       */
	float  *buffer[AGREE_MAX_PAIRS][2];
	size_t  n[AGREE_MAX_PAIRS];
	size_t  n_pairs;
	void   *bytes[AGREE_MAX_BYTES];
	size_t  n_bytes;
	uint32_t crc;                  /* of what was under test, after agree_end()        */
};

double   agree_uniform(struct agree *t, double low, double high);
size_t   agree_below(struct agree *t, size_t n);      /* 1..n                       */
/* Of the shape, or 1..most. */
size_t   agree_rows(struct agree *t, size_t most);
size_t   agree_columns(struct agree *t, size_t most);
/* A pair of n floats, uniform in [low,high); returns its number. */
size_t   agree_pair(struct agree *t, size_t n, double low, double high);
/* Bytes for one side, 0 the reference; from NULL: zeros. */
void    *agree_bytes(struct agree *t, size_t side, const void *from, size_t bytes);
void     agree_wait(const struct agree *t);
void     agree_end(struct agree *t, double tolerance);

#endif
