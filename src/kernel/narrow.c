/* Which set multiplies numbers of two bytes, or why none does. */
#include "kernel/narrow.h"

#include "config.h"
#include "kernel/kernel.h"
#ifdef HAVE_ONEDNN
#include "kernel/onednn/onednn.h"
#endif
#ifdef HAVE_X86_LEVELS
#include <cpuid.h>
#endif

#ifdef HAVE_X86_LEVELS
#define HAS_AMX_BF16    (1u << 22)      /* leaf 7, subleaf 0, edx                 */
#define HAS_AMX_TILE    (1u << 24)
#define HAS_AVX512_BF16 (1u << 5)       /* leaf 7, subleaf 1, eax                 */

/* Whether the system keeps the registers is for the library to find out. */
static int
multiplies_brain(void)
{
	unsigned a, b, c, d, more;

	if (!__builtin_cpu_supports("avx512f") || !__get_cpuid_count(7, 0, &more, &b, &c, &d))
		return 0;
	if ((d & HAS_AMX_BF16) && (d & HAS_AMX_TILE))
		return 1;
	return more >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & HAS_AVX512_BF16);
}
#else
static int
multiplies_brain(void)
{
	return 0;
}
#endif

static enum rs_status
best(const struct narrow_set **out)
{
	if (!multiplies_brain())
		return rs_fail(RS_ESPEC,
			"train.precision = bf16: this processor has neither AMX nor AVX512-BF16");
#ifdef HAVE_ONEDNN
	return onednn_narrow(out);
#else
	(void)out;
	return rs_fail(RS_ESPEC, "train.precision = bf16: this build has no oneDNN "
		"(--with-onednn)");
#endif
}

enum rs_status
narrow_select(const struct narrow_set **out)
{
	if (kernel_forced() != NULL) {
		*out = &narrow_rounded;
		return RS_OK;
	}
	if (best(out) == RS_OK)
		return RS_OK;
	return rs_failure()->hint[0] != '\0' ? rs_failure()->status
		: rs_hint("set train.precision = fp32, which trains anywhere");
}
