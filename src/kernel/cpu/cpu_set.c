/* One level's set: the slots of CPU_TABLE. */
#include "kernel/cpu/cpu_table.h"

const struct kernel_set CPU(kernel_cpu) = {
	.name = CPU_TEXT(KERNEL_LEVEL),
#define ROW(name) .name = CPU(name),
	CPU_TABLE(ROW)
#undef ROW
};
