/*
 * Counts the allocations of a test program that links tests/allocations.c, and lets one fail:
 * malloc and its kin are replaced by counting ones, of every thread and library.
 */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

#include <stddef.h>

/* 0: this build cannot count, allocations_count() stays 0 and none fails. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ALLOCATIONS_CAN_COUNT 1
#else
#define ALLOCATIONS_CAN_COUNT 0
#endif

/* Since the program began. */
size_t allocations_count(void);
/* Blocks that were not freed yet. */
size_t allocations_live(void);
/* The n-th allocation from here on finds no memory; 0: each finds some. */
void allocations_fail_at(size_t n);

#endif
