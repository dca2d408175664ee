/*
 * Numbers in text, in the C locale whatever the process's locale is.  Readers
 * take exactly n bytes and accept nothing but the whole of them.  Writers give
 * the shortest decimal text that reads back to the same value.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* 1 on success, 0 when the text is not such a number or is out of range.
 * nan, inf and hexadecimal are refused. */
int number_double(const char *text, size_t n, double *out);
int number_float(const char *text, size_t n, float *out);
int number_i64(const char *text, size_t n, int64_t *out);
int number_u64(const char *text, size_t n, uint64_t *out);

/* Both return out. */
char *number_print_float(char out[32], float value);
char *number_print_double(char out[32], double value);

#endif
