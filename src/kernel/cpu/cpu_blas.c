/* OpenBLAS: its threads, its build, the code it chose. */
#include "kernel/cpu/cpu_blas.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

/* What openblas_get_parallel() returns. */
static const char *const build_name[] = { "serial", "pthread", "OpenMP" };
enum { N_BUILDS = 3, BUILD_OPENMP = 2 };

static char description[160];

/* Builds for several processors export these; others lack them. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

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
