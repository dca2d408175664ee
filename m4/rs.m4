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

# RS_MPI_LIBRARY(VARIABLE, NAME, PC-MODULE): can a plug-in be linked with it?
AC_DEFUN([RS_MPI_LIBRARY], [
PKG_CHECK_MODULES([$1], [$3], [rs_found=yes], [rs_found=no])
AS_IF([test "$rs_found" = yes], [
	rs_saved_CPPFLAGS=$CPPFLAGS rs_saved_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $$1_CFLAGS" LIBS="$LIBS $$1_LIBS"
	AC_MSG_CHECKING([whether programs link with $2])
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Finalize();]])],
		[], [rs_found=no])
	AC_MSG_RESULT([$rs_found])
	CPPFLAGS=$rs_saved_CPPFLAGS LIBS=$rs_saved_LIBS
])
AS_IF([test "$rs_found" = yes], [
	AC_DEFINE([HAVE_$1], [1], [a plug-in for $2 is built])
	MPI_PLUGINS="$MPI_PLUGINS recsys-train-mpi-$2.so"
])
])

# RS_MPI: plug-ins for the MPI libraries that are there.
AC_DEFUN([RS_MPI], [
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi],
	[build plug-ins for Open MPI and MPICH @<:@auto: for those that are found@:>@])],
	[], [with_mpi=auto])
MPI_PLUGINS=
AS_IF([test "$with_mpi" != no], [
	RS_MPI_LIBRARY([OPENMPI], [openmpi], [ompi-c])
	RS_MPI_LIBRARY([MPICH], [mpich], [mpich])
	AS_IF([test -z "$MPI_PLUGINS" && test "$with_mpi" = yes],
		[AC_MSG_ERROR([no MPI was found for --with-mpi (Debian: libopenmpi-dev or libmpich-dev)])])
])
AC_SUBST([MPI_PLUGINS])
])
