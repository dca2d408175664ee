/*
 * Blocks and threads of a GPU on the CPU: what kernel/cuda/cuda_body.h calls where there is no
 * nvcc.  Every index into memory and every barrier is checked, shared memory and scratch begin
 * as NaN, and blocks and threads run one after another, from the last to the first when told so.
 */
#ifndef TESTS_KERNEL_EMULATE_H
#define TESTS_KERNEL_EMULATE_H

#include "kernel/kernel_table.h"

extern const struct kernel_set kernel_emulated;

void emulate_backwards(int is_backwards);
/* What was outside of its view, lacked a barrier or wanted more shared memory than there is,
 * how often, since it was last called; *where: the first. */
unsigned emulate_violations(const char **where);
/* Frees what it holds. */
void emulate_end(void);

#endif
