/*
 * Prototypes of the reference kernels: NAME_ref for every row of the table.
 * Plain C, sums in double, no care for speed: they say what a kernel does.
 */
#ifndef KERNEL_REF_REF_H
#define KERNEL_REF_REF_H

#include "kernel/kernel_table.h"

#define ROW(name, arguments) kernel_##name name##_ref;
KERNEL_TABLE(ROW)
#undef ROW

#endif
