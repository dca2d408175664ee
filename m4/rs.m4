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

# RS_ONEDNN: the header of oneDNN; the library is loaded when it is wanted.
AC_DEFUN([RS_ONEDNN], [
AC_ARG_WITH([onednn], [AS_HELP_STRING([--with-onednn],
	[train in bf16 by oneDNN 2.6 or a later 2.x @<:@auto: when its header is found@:>@])],
	[], [with_onednn=auto])
rs_onednn=no
AS_IF([test "$with_onednn" != no], [
	AC_MSG_CHECKING([for dnnl.h of oneDNN 2.6 or a later 2.x])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR != 2 || DNNL_VERSION_MINOR < 6
#error another version
#endif
		]], [[return dnnl_matmul_desc_init == 0;]])], [rs_onednn=yes])
	AC_MSG_RESULT([$rs_onednn])
	AS_IF([test "$rs_onednn" = no], [
		AS_IF([test "$with_onednn" = auto],
			[AC_MSG_WARN([no oneDNN 2.x: this build does not train in bf16 (Debian: libdnnl-dev)])],
			[AC_MSG_ERROR([oneDNN 2.6 or a later 2.x is needed for --with-onednn (Debian: libdnnl-dev)])])
	])
])
AM_CONDITIONAL([HAVE_ONEDNN], [test "$rs_onednn" = yes])
AS_IF([test "$rs_onednn" = yes],
	[AC_DEFINE([HAVE_ONEDNN], [1], [products of bfloat16 by oneDNN are compiled in])])
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

# RS_CUDA: the toolkit of CUDA: --with-cuda guesses, yes or DIR must be there, no leaves it.
# Sets NVCC, CUDA_CFLAGS, CUDA_LIBS and the conditional HAVE_CUDA.
AC_DEFUN([RS_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
	[build kernels for GPUs with the CUDA toolkit in DIR @<:@auto: where it is found@:>@])],
	[], [with_cuda=auto])
rs_cuda=no rs_cuda_why=
# Without what would want the library of C++.
NVCC_FLAGS="-std=c++20 -O3 -Xcompiler -fPIC,-fno-exceptions,-fno-threadsafe-statics"
AS_IF([test "$with_cuda" != no], [
	AS_CASE([$with_cuda],
		[auto | yes], [rs_cuda_path=$PATH$PATH_SEPARATOR/usr/local/cuda/bin],
		[rs_cuda_path=$with_cuda/bin])
	AC_PATH_PROG([NVCC], [nvcc], [], [$rs_cuda_path])
	AS_IF([test -z "$NVCC"], [rs_cuda_why="there is no nvcc"], [
		rs_cuda_bin=`AS_DIRNAME(["$NVCC"])`
		rs_cuda_home=`cd "$rs_cuda_bin/.." && pwd`
		rs_cuda_lib=
		for rs_dir in lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu; do
			AS_IF([test -z "$rs_cuda_lib" && test -f "$rs_cuda_home/$rs_dir/libcudart_static.a"],
				[rs_cuda_lib=$rs_cuda_home/$rs_dir])
		done
		AS_IF([test "$rs_cuda_home" = /usr], [CUDA_CFLAGS=], [CUDA_CFLAGS="-isystem $rs_cuda_home/include"])
		CUDA_LIBDIR=$rs_cuda_lib
		CUDA_LIBS="$rs_cuda_lib/libcudart_static.a -lrt -lpthread -ldl"
		AC_MSG_CHECKING([whether $NVCC compiles and programs link with what it makes])
		AS_IF([test -z "$rs_cuda_lib"], [rs_cuda_why="there is no libcudart_static.a"],
			[RS_CUDA_TRY])
		AC_MSG_RESULT([$rs_cuda])
	])
	AS_IF([test "$rs_cuda" = no], [
		AS_IF([test "$with_cuda" = auto],
			[AC_MSG_WARN([no CUDA toolkit: this build trains on CPUs only ($rs_cuda_why)])],
			[AC_MSG_ERROR([no CUDA toolkit for --with-cuda=$with_cuda: $rs_cuda_why])])
	])
])
AS_IF([test "$rs_cuda" = no], [NVCC= CUDA_CFLAGS= CUDA_LIBS=],
	[AC_DEFINE([HAVE_CUDA], [1], [kernels for GPUs are compiled in])])
# nvcc through ccache, when the C compiler goes through it.
AS_CASE([$CC], [*ccache*], [NVCC="${NVCC:+ccache $NVCC}"])
AC_ARG_VAR([CUDA_ARCH], [machine code of the kernels for GPUs, for nvcc @<:@sm_80 sm_90 and PTX@:>@])
AS_VAR_SET_IF([CUDA_ARCH], [], [CUDA_ARCH="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90"])
AC_SUBST([CUDA_CFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([CUDA_LIBDIR])
AC_SUBST([NVCC_FLAGS])
AM_CONDITIONAL([HAVE_CUDA], [test "$rs_cuda" = yes])
])

# RS_CUDA_TRY: a kernel, its launch from C, and both linked by the C compiler.
AC_DEFUN([RS_CUDA_TRY], [
cat >conftest_gpu.cu <<'END'
#include <cuda_runtime.h>
#include <cublas_v2.h>
static __global__ void kernel(float *x) { x[[threadIdx.x]] = CUBLAS_OP_N; }
extern "C" int launch(float *x) { kernel<<<1, 32>>>(x); return (int)cudaGetLastError(); }
END
AS_IF([$NVCC $NVCC_FLAGS -c -o conftest_gpu.o conftest_gpu.cu >&AS_MESSAGE_LOG_FD 2>&1], [
	rs_saved_LIBS=$LIBS
	LIBS="conftest_gpu.o $CUDA_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[int launch(float *x);]], [[return launch(0);]])],
		[rs_cuda=yes], [rs_cuda_why="programs do not link with $CUDA_LIBS"])
	LIBS=$rs_saved_LIBS
], [rs_cuda_why="$NVCC does not compile, see config.log"])
rm -f conftest_gpu.cu conftest_gpu.o
])

# RS_NCCL: the header of NCCL, after RS_CUDA: the library is loaded when it is wanted.
# Sets NCCL_CFLAGS.
AC_DEFUN([RS_NCCL], [
AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl@<:@=DIR@:>@],
	[sums over GPUs by NCCL, with its header in DIR/include @<:@auto: with CUDA, where it is found@:>@])],
	[], [with_nccl=auto])
rs_nccl=no NCCL_CFLAGS= NCCL_LIBDIR=$CUDA_LIBDIR
AS_IF([test "$with_nccl" != no && test "$rs_cuda" = yes], [
	NCCL_CFLAGS=$CUDA_CFLAGS
	AS_CASE([$with_nccl], [auto | yes], [],
		[NCCL_CFLAGS="-isystem $with_nccl/include $CUDA_CFLAGS" NCCL_LIBDIR=$with_nccl/lib])
	rs_saved_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $NCCL_CFLAGS"
	AC_MSG_CHECKING([for nccl.h of NCCL 2.14 or newer])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <nccl.h>]], [[
		ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
		config.blocking = 0;
		return ncclCommInitRankConfig == 0 || config.blocking;]])], [rs_nccl=yes])
	AS_CASE([$with_nccl], [auto | yes], [],
		[AS_IF([test ! -f "$with_nccl/include/nccl.h"], [rs_nccl=no])])
	AC_MSG_RESULT([$rs_nccl])
	CPPFLAGS=$rs_saved_CPPFLAGS
])
AS_IF([test "$rs_nccl" = yes],
	[AC_DEFINE([HAVE_NCCL], [1], [sums over GPUs by NCCL are compiled in])
	AC_DEFINE_UNQUOTED([NCCL_LIBDIR], ["$NCCL_LIBDIR"], [where NCCL was])],
	[NCCL_CFLAGS=
	AS_CASE([$with_nccl], [no | auto], [],
		[AC_MSG_ERROR([no NCCL for --with-nccl=$with_nccl: nccl.h 2.14 or newer and CUDA are needed])])
	AS_IF([test "$with_nccl" = auto && test "$rs_cuda" = yes],
		[AC_MSG_WARN([NCCL is missing: GPUs of several processes cannot sum over it])])])
AC_SUBST([NCCL_CFLAGS])
])
