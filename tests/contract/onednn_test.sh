#!/bin/sh
# Configure finds oneDNN, refuses a version that it does not know or goes on without; programs
# start without the library.
set -u
. "$SRCDIR/tests/contract/configured.sh"

configured 0 --without-cuda --without-onednn
grep -qi onednn "$work/out" && { cat "$work/out"; fail "--without-onednn speaks of it"; }
grep -q '^#define HAVE_ONEDNN' "$work/config.h" && fail "oneDNN with --without-onednn"

# A later major version has other functions.
mkdir -p "$work/later/oneapi/dnnl"
printf '#define DNNL_VERSION_MAJOR 3\n#define DNNL_VERSION_MINOR 6\n' \
	>"$work/later/oneapi/dnnl/dnnl.h"
rm -f "$work/cache"
configured 1 --without-cuda --with-onednn "CPPFLAGS=-I$work/later"
grep -q 'error: oneDNN 2.6 or a later 2.x is needed for --with-onednn' "$work/out" ||
	{ cat "$work/out"; fail "no word of which version is wanted"; }
configured 0 --without-cuda "CPPFLAGS=-I$work/later"
grep -q 'WARNING: no oneDNN 2.x: this build does not train in bf16' "$work/out" ||
	{ cat "$work/out"; fail "a guess that finds nothing does not say so"; }
grep -q '^#define HAVE_ONEDNN' "$work/config.h" && fail "oneDNN of an unknown version"

for file in "$RECSYS_TRAIN" "$BUILDDIR/librecsys.so.1"; do
	ldd "$file" | grep 'libdnnl' && fail "$file does not start without oneDNN"
done
if grep -q '^#define HAVE_ONEDNN' "$BUILDDIR/config.h"; then
	"$RECSYS_TRAIN" --version | grep -q ' onednn[ ;]' || fail "--version does not list onednn"
fi
exit $code
