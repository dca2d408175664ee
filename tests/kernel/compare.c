/* Walks the table of kernels and compares each. */
#include "compare.h"

/* A slot without a compare_NAME does not compile. */
static const struct comparison {
	const char *name;
	void (*compare)(const struct kernel_set *set, struct agree *t);
} comparison_table[] = {
#define ROW(name, arguments) { #name, compare_##name },
	KERNEL_TABLE(ROW)
#undef ROW
};

const size_t compare_n = sizeof(comparison_table) / sizeof(comparison_table[0]);

/* No rows, one, and what does not fill a warp, a block or a tile, or fills more than one. */
static const struct agree_shape odd_shape[COMPARE_TRIALS] = {
	{ 0, 33 }, { 1, 1 }, { 3, 257 }, { 31, 3 }, { 33, 31 }, { 257, 33 }, { 1025, 1 },
	{ 1, 1025 }, { 1025, 31 }, { 31, 257 }, { 257, 3 }, { 3, 1025 },
};

void
compare_set(const struct kernel_set *set, const struct agree_memory *memory, int is_odd,
	double tolerance, uint32_t *crc)
{
	for (size_t i = 0; i < compare_n; i++)
		for (uint64_t trial = 0; trial < COMPARE_TRIALS; trial++) {
			struct agree t = {
				.kernel = comparison_table[i].name, .set = set->name, .key = trial,
				.is_odd = is_odd, .shape = odd_shape[trial], .memory = memory,
			};
			comparison_table[i].compare(set, &t);
			agree_end(&t, tolerance);
			if (crc != NULL)
				crc[i * COMPARE_TRIALS + trial] = t.crc;
		}
}
