/* OpenBLAS: its threads, its build, the code it chose. */
#include "kernel/cpu/cpu_blas.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/memory.h"

/* What openblas_get_parallel() returns. */
static const char *const build_name[] = { "serial", "pthread", "OpenMP" };
enum { N_BUILDS = 3, BUILD_OPENMP = 2 };

/* A block of the library's builds for x86-64, and its page. */
#define BLOCK_BYTES (((size_t)128 << 20) + 4096)

static char description[160];

/* Builds for several processors export these; others lack them. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));
extern void *blas_memory_alloc(int) __attribute__((weak));
extern void blas_memory_free(void *) __attribute__((weak));

/*
 * A library older than the processor does not know its model number and falls
 * back to code of 2004, five times slower.  Then it is told what the processor
 * can do and made to choose again; OPENBLAS_CORETYPE of the user stands.
 */
static int
correct_core_type(const char *wanted)
{
	static const char *const fallback[] = { "Prescott", "Core2", "Nehalem", "Katmai",
		"Barcelona" };
	int is_fallback = 0;

	if (wanted == NULL || gotoblas_dynamic_init == NULL || gotoblas_dynamic_quit == NULL)
		return 0;
	for (size_t i = 0; i < sizeof(fallback) / sizeof(fallback[0]); i++)
		is_fallback |= strcasecmp(openblas_get_corename(), fallback[i]) == 0;
	if (!is_fallback || setenv("OPENBLAS_CORETYPE", wanted, 0) != 0)
		return 0;
	gotoblas_dynamic_quit();
	gotoblas_dynamic_init();
	return strcasecmp(openblas_get_corename(), wanted) == 0;
}

void
cpu_blas_start(const char *core_type)
{
	const int build = openblas_get_parallel();
	char version[64] = "OpenBLAS";

	const int corrected = correct_core_type(core_type);

	openblas_set_num_threads(1);
	if (build == BUILD_OPENMP)
		log_warn(
			"this OpenBLAS is an OpenMP build; several training threads will hardly be "
			"faster than one (Debian: install libopenblas0-pthread)");
	sscanf(openblas_get_config(), "%31s %31[^ ]", version, version + 32);
	snprintf(description, sizeof(description), "%s %s %s%s, 1 thread, %s build", version,
		version + 32, openblas_get_corename(),
		corrected ? " (corrected: unknown to the library)" : "",
		build >= 0 && build < N_BUILDS ? build_name[build] : "unknown");
}

const char *
cpu_blas_description(void)
{
	return description;
}

/* What the library has taken it keeps, so nothing else gets what there is room for. */
static void
take_blocks(void **block, size_t n)
{
	if (blas_memory_alloc == NULL || blas_memory_free == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		block[i] = blas_memory_alloc(0);
	while (n > 0)
		blas_memory_free(block[--n]);
}

enum rs_status
cpu_blas_room(size_t n_threads)
{
	struct rlimit limit;
	size_t n = 0;
	void **block;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return RS_OK;
	RS_TRY(memory_alloc(n_threads, sizeof(*block), &block));
	while (n < n_threads && (block[n] = malloc(BLOCK_BYTES)) != NULL)
		n++;
	const int is_short = n < n_threads;
	while (n > 0)
		free(block[--n]);
	if (!is_short)
		take_blocks(block, n_threads);
	free(block);
	if (!is_short)
		return RS_OK;
	rs_fail(RS_ERESOURCE, "the limit of the address space (%llu MiB) leaves no room for "
		"OpenBLAS, which wants 128 MiB for each of %zu threads",
		(unsigned long long)limit.rlim_cur >> 20, n_threads);
	return rs_hint("raise it (ulimit -v), or use fewer threads with -j");
}
