/* Hashes and numbers of eight bytes, for each level of the processor. */
#include "data/cell_words.h"

#include "config.h"
#include "data/fast_cell.h"

#define VECTORISED optimize("O3")

#define LEVEL(level, ...) \
	__attribute__((VECTORISED __VA_ARGS__)) static void hash_##level( \
		size_t n, const uint64_t *restrict word, uint64_t *restrict hash) \
	{ \
		for (size_t i = 0; i < n; i++) \
			hash[i] = fast_cell_hash8(word[i]); \
	} \
	__attribute__((VECTORISED __VA_ARGS__)) static void digits_##level( \
		size_t n, const uint64_t *restrict word, const uint64_t *restrict length, \
		int64_t *restrict value) \
	{ \
		for (size_t i = 0; i < n; i++) \
			value[i] = fast_cell_digits8(word[i], length[i]); \
	}

LEVEL(baseline)

static int
has_baseline(void)
{
	return 1;
}

#ifdef HAVE_X86_LEVELS
LEVEL(avx2, , target("avx2"))
LEVEL(avx512, , target("avx512f,avx512dq,avx512vl,avx512bw"))

static int
has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static int
has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

const struct cell_words cell_words_levels[] = {
#ifdef HAVE_X86_LEVELS
	{ "avx512", has_avx512, hash_avx512, digits_avx512 },
	{ "avx2", has_avx2, hash_avx2, digits_avx2 },
#endif
	{ "baseline", has_baseline, hash_baseline, digits_baseline },
	{ NULL, NULL, NULL, NULL },
};

const struct cell_words *
cell_words_best(void)
{
	const struct cell_words *level = cell_words_levels;

	while (!level->has())
		level++;
	return level;
}
