/* Which set multiplies layers in place of the kernels, or why none does. */
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
		return rs_fail(RS_ESPEC, "this processor has neither AMX nor AVX512-BF16");
#ifdef HAVE_ONEDNN
	return onednn_narrow(out);
#else
	(void)out;
	return rs_fail(RS_ESPEC, "this build has no oneDNN (--with-onednn)");
#endif
}

static enum rs_status
best_plain(const struct narrow_set **out)
{
#ifdef HAVE_ONEDNN
	return onednn_plain(out);
#else
	(void)out;
	return rs_fail(RS_ESPEC, "this build has no oneDNN (--with-onednn)");
#endif
}

/* The failure is of the key; `otherwise` is what does without. */
static enum rs_status
refuse(const char *key, const char *otherwise)
{
	struct rs_failure f;

	rs_failure_take(&f);
	if (f.status != RS_ESPEC)
		return rs_failure_put(&f);
	rs_fail(RS_ESPEC, "%s: %.900s", key, f.text);
	return rs_hint("%.300s%sset %s, which trains anywhere", f.hint,
		f.hint[0] != '\0' ? ", or " : "", otherwise);
}

enum rs_status
narrow_select(const struct narrow_set **out)
{
	if (kernel_forced() != NULL) {
		*out = &narrow_rounded;
		return RS_OK;
	}
	return best(out) == RS_OK ? RS_OK
		: refuse("train.precision = bf16", "train.precision = fp32");
}

enum rs_status
narrow_select_plain(const struct narrow_set **out)
{
	*out = NULL;
	if (kernel_forced() != NULL)
		return RS_OK;
	return best_plain(out) == RS_OK ? RS_OK
		: refuse("train.products = onednn", "train.products = builtin");
}
