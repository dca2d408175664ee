/*
 * A fuzz target: one function of the bytes, which must come back whatever they are.
 *
 * Linked with corpus_main.c it is a test of `make check` that runs the corpus; built by
 * tests/fuzz/run it is a libFuzzer program with sanitizers.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What must hold for all bytes; also where assert() is off. */
#define FUZZ_CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

#endif
