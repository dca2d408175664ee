/*
 * Blocks and threads of a GPU on the CPU: what kernel/cuda/cuda_body.h calls where there is no
 * nvcc.  Every index into memory and every barrier is checked, shared memory and scratch begin
 * as NaN, and blocks and threads run one after another, from the last to the first when told so.
 * Any number of threads may run kernels, each in memory of its own.
 */
#ifndef TESTS_KERNEL_EMULATE_H
#define TESTS_KERNEL_EMULATE_H

#include <stddef.h>

#include "kernel/kernel_table.h"

extern const struct kernel_set kernel_emulated;

enum { EMULATE_DEVICES = 5 };

/* Memory of a GPU, which is closed but while a kernel runs; the scratch of kernels is at its
 * end. */
struct emulate_memory {
	char  *block;                  /* whole pages                                     */
	size_t bytes, scratch_floats;
	int    device;
	int    multiplies;             /* products may run                                */
	int    has_failed;             /* kernels do nothing                              */
	int    is_open;                /* so often                                        */
	size_t n_started;              /* kernels and copies                              */
};

/* Kernels of this thread touch that memory alone from now on; NULL: any. */
void emulate_use(struct emulate_memory *m);
void emulate_open(struct emulate_memory *m);
void emulate_close(struct emulate_memory *m);
/* The same with what emulate_take() gave. */
void emulate_open_all(struct emulate_memory *m);
void emulate_close_all(struct emulate_memory *m);
/* Memory of a device for its kernels of all threads, which is closed but while one of them runs,
 * and begins as NaN; NULL: there is no more. */
void *emulate_take(int device, size_t bytes);
void emulate_give(int device, void *p);
/* Kernels that this thread has started, into a graph or not. */
size_t emulate_started(void);
/* The n-th thing that is started from now on, by any thread, fails; 0: none. */
void emulate_fail(unsigned n);
/* Counts one; 1: it is that which fails. */
int  emulate_fails(void);

/* Kernels with a copy of their arguments; views are as long as they were. */
struct emulate_recording { struct call *call; size_t n; };
/* Kernels of this thread are kept there in place of being run; NULL: they run. */
void emulate_record(struct emulate_recording *r);
/* 1: they are neither. */
void emulate_skip(int is_skipping);
void emulate_replay(const struct emulate_recording *r);
void emulate_drop(struct emulate_recording *r);

void emulate_backwards(int is_backwards);
/* What was outside of its view or of the memory of the GPU, lacked a barrier or wanted more
 * shared memory than there is, how often, since it was last called; *where: the first. */
unsigned emulate_violations(const char **where);
void emulate_violate(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Frees what it holds. */
void emulate_end(void);

#endif
