/* The reference set: every slot filled. */
#include "kernel/kernel.h"
#include "kernel/ref/ref.h"

const struct kernel_set kernel_ref = {
	.name = "ref",
#define ROW(name, arguments) .name = name##_ref,
	KERNEL_TABLE(ROW)
#undef ROW
};
