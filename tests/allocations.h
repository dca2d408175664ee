/*
 * Counts the allocations of a test program that links tests/allocations.c: malloc and its
 * kin are replaced by counting ones, of every thread and library.
 */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

#include <stddef.h>

/* 0: this build cannot count, allocations_count() stays 0. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ALLOCATIONS_CAN_COUNT 1
#else
#define ALLOCATIONS_CAN_COUNT 0
#endif

/* Since the program began. */
size_t allocations_count(void);

#endif
