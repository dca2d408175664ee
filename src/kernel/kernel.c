/* Choosing the kernels: what the processor has, or what a name forces. */
#include "kernel/kernel.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "config.h"
#include "kernel/cpu/cpu_blas.h"
#include "kernel/cpu/cpu_table.h"

static int
has_baseline(void)
{
	return 1;
}

#ifdef HAVE_X86_LEVELS
static int
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
		&& __builtin_cpu_supports("bmi");
}

static int
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
		&& __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/* Best first. */
static const struct level {
	const char *name;
	const struct kernel_set *overrides;
	int (*has)(void);
	const char *core_type;      /* OpenBLAS's code for it                         */
	cpu_round *round;
} level_table[] = {
#ifdef HAVE_X86_LEVELS
	{ "avx512", &kernel_cpu_avx512, has_avx512, "SkylakeX", cpu_round_avx512 },
	{ "avx2", &kernel_cpu_avx2, has_avx2, "Haswell", cpu_round_avx2 },
#endif
	{ "baseline", &kernel_cpu_baseline, has_baseline, NULL, cpu_round_baseline },
};

enum { N_LEVELS = sizeof(level_table) / sizeof(level_table[0]) };

static struct kernel_set complete[N_LEVELS];
static pthread_once_t complete_once = PTHREAD_ONCE_INIT;
static size_t best;            /* in level_table, what the processor has         */
static const char *forced;     /* NULL: nothing is                               */

/* Slots that a level leaves empty are those of ref. */
static void
complete_levels(void)
{
	for (size_t i = 0; i < N_LEVELS; i++) {
		complete[i] = kernel_ref;
		complete[i].name = level_table[i].overrides->name;
#define ROW(slot, arguments) \
		if (level_table[i].overrides->slot != NULL) \
			complete[i].slot = level_table[i].overrides->slot;
		KERNEL_TABLE(ROW)
#undef ROW
	}
	while (!level_table[best].has())
		best++;
	cpu_blas_start(level_table[best].core_type);
}

enum rs_status
kernel_select(const char *name, const struct kernel_set **out)
{
	if (forced != NULL && strcmp(name, "auto") == 0)
		name = forced;
	if (strcmp(name, "ref") == 0) {
		*out = &kernel_ref;
		return RS_OK;
	}
	pthread_once(&complete_once, complete_levels);
	for (size_t i = 0; i < N_LEVELS; i++) {
		const int automatic = strcmp(name, "auto") == 0;
		if (!automatic && strcmp(name, level_table[i].name) != 0)
			continue;
		if (level_table[i].has()) {
			*out = &complete[i];
			return RS_OK;
		}
		if (!automatic)
			return rs_fail(
				RS_EUSAGE, "this processor cannot run kernel set '%s'", name);
	}
	rs_fail(RS_EUSAGE, "unknown kernel set '%s'", name);
	return rs_hint("known: auto ref avx512 avx2 baseline");
}

enum rs_status
kernel_force(const char *name)
{
	const struct kernel_set *set;

	RS_TRY(kernel_select(name, &set));
	forced = strcmp(name, "auto") == 0 ? NULL : name;
	return RS_OK;
}

const char *
kernel_forced(void)
{
	return forced;
}

void
kernel_round(size_t n, const float *x, uint16_t *y)
{
	pthread_once(&complete_once, complete_levels);
	level_table[best].round(n, x, y);
}

const char *
kernel_blas_description(void)
{
	pthread_once(&complete_once, complete_levels);
	return cpu_blas_description();
}

enum rs_status
kernel_blas_room(size_t n_threads)
{
	return cpu_blas_room(n_threads);
}
