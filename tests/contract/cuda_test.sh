#!/bin/sh
# Configure finds CUDA, takes a folder or goes on without; what is built with it needs no
# library of it to start.  Every kernel says what it moves, and none adds in any order.
set -u
. "$SRCDIR/tests/contract/configured.sh"

configured 1 --with-cuda="$work/nowhere"
grep -q "error: no CUDA toolkit for --with-cuda=$work/nowhere: there is no nvcc" "$work/out" ||
	{ cat "$work/out"; fail "no word of what is missing"; }
configured 0 NVCC=/bin/false
grep -q 'WARNING: no CUDA toolkit: this build trains on CPUs only (' \
	"$work/out" || { cat "$work/out"; fail "a guess that finds nothing does not say so"; }
grep -q '^#define HAVE_CUDA' "$work/config.h" && fail "CUDA without a compiler for it"
configured 0 --without-cuda
grep -qi cuda "$work/out" && { cat "$work/out"; fail "--without-cuda speaks of it"; }
grep -q '^#define HAVE_CUDA' "$work/config.h" && fail "CUDA with --without-cuda"

configured 1 --without-cuda --with-nccl
grep -q 'error: no NCCL for --with-nccl=yes: nccl.h 2.14 or newer and CUDA' "$work/out" ||
	{ cat "$work/out"; fail "no word of what NCCL needs"; }

for file in "$RECSYS_TRAIN" "$BUILDDIR/librecsys.so.1"; do
	ldd "$file" | grep -E 'lib(cuda|cudart|cublas|cublasLt|nccl)\.so' &&
		fail "$file does not start without these"
done
if [ -f "$BUILDDIR/libkernel_cuda.a" ]; then
	"$RECSYS_TRAIN" --version | grep -q ' cuda[ ;]' || fail "--version does not list cuda"
	nm "$BUILDDIR/librecsys.a" 2>/dev/null | grep -q ' cuda[A-Z]' &&
		fail "the scoring library has CUDA in it"
fi
# The comment at the top of a file of kernels names those in it.
for file in "$SRCDIR"/src/kernel/cuda/*_body.h; do
	sed '/^ \*\//q' "$file"
done | tr -cs 'a-z0-9_' '\n' | sort -u >"$work/told"
grep -o 'ROW([a-z0-9_]*,  *(' "$SRCDIR/src/kernel/kernel_table.h" | sed 's/ROW(//; s/,.*//' |
	grep -v '^name$' | sort -u >"$work/kernels"
[ "$(wc -l <"$work/kernels")" -ge 60 ] || fail "the table of kernels was not understood"
comm -23 "$work/kernels" "$work/told" >"$work/untold"
[ ! -s "$work/untold" ] || fail "not told what they move: $(tr '\n' ' ' <"$work/untold")"
grep -n 'atomic[A-Z]' "$SRCDIR"/src/kernel/cuda/* && fail "sums whose order is not fixed"
exit $code
