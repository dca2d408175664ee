# AX_APPEND_COMPILE_FLAGS_RS(FLAGS, VARIABLE): appends each flag the compiler takes.
AC_DEFUN([AX_APPEND_COMPILE_FLAGS_RS], [
for rs_flag in $1; do
	rs_saved=$CFLAGS
	CFLAGS="$CFLAGS -Werror $rs_flag"
	AC_MSG_CHECKING([whether $CC takes $rs_flag])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([])],
		[AC_MSG_RESULT([yes]); $2="$$2 $rs_flag"], [AC_MSG_RESULT([no])])
	CFLAGS=$rs_saved
done
])

# AX_CHECK_X86_LEVELS_RS: can vector code for AVX2 and AVX-512 be compiled here?
AC_DEFUN([AX_CHECK_X86_LEVELS_RS], [
AC_MSG_CHECKING([for x86-64 vector levels])
rs_saved=$CFLAGS
CFLAGS="$CFLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]],
	[[__m512 x = _mm512_set1_ps(1); (void)x; return __builtin_cpu_supports("avx512f");]])],
	[rs_x86=yes], [rs_x86=no])
CFLAGS=$rs_saved
AC_MSG_RESULT([$rs_x86])
AM_CONDITIONAL([X86_LEVELS], [test "$rs_x86" = yes])
AS_IF([test "$rs_x86" = yes], [AC_DEFINE([HAVE_X86_LEVELS], [1], [AVX2 and AVX-512 code is compiled in])])
])
