#!/bin/sh
# make install DESTDIR= installs the program, every manual page, spec and
# completion of the tree; make uninstall leaves no file behind.
set -u
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

quiet_make() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$BUILDDIR" "$@" DESTDIR="$work" \
		>"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
	rm -f "$work/out"
}

quiet_make install
find "$work" -type f | sed 's,.*/,,' | sort >"$work.list"
code=0
for name in recsys.h recsys.pc librecsys.a librecsys.so.1.0.0 recsys-train _recsys-train recsys-train.fish $(cd "$SRCDIR" && ls man configs |
	grep -E '\.([1357]|ini)$'); do
	if ! grep -qxF "$name" "$work.list"; then
		echo "'$name' is not installed"
		code=1
	fi
done
rm -f "$work.list"
quiet_make uninstall
left=$(find "$work" -type f -o -type l)
if [ -n "$left" ]; then
	echo "uninstall leaves: $left"
	code=1
fi
exit $code
