#!/bin/sh
# Every file under version control is in the tarball.
set -u
cd "$SRCDIR" || exit 99
if ! git ls-files --error-unmatch configure.ac >/dev/null 2>&1; then
	echo "this is not a checkout, so there is nothing to compare with"
	exit 77
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$BUILDDIR" print-distfiles |
	sort -u >"$work/shipped"
git ls-files | grep -v '^\.' | sort >"$work/tracked"
[ -s "$work/shipped" ] || { echo "no list of shipped files"; exit 1; }
comm -23 "$work/tracked" "$work/shipped" >"$work/missing"
if [ -s "$work/missing" ]; then
	echo "not in the tarball:"
	cat "$work/missing"
	exit 1
fi
