/* Floats as bfloat16. */
#include "base/half.h"
#include "kernel/cpu/cpu_table.h"

void
CPU(cpu_round)(size_t n, const float *restrict x, uint16_t *restrict y)
{
	for (size_t i = 0; i < n; i++)
		y[i] = half_brain_of(x[i]);
}
