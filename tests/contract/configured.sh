# shellcheck shell=sh disable=SC2034
#
# For tests of what configure finds: a folder in $work that goes in the end, code, fail().
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
code=0
fail() { echo "FAIL: $*"; code=1; }

# configured WANT ARGUMENT...: configure, with a cache of what it found before, ends so.
configured() {
	want=$1
	shift
	(cd "$work" && env -u MAKEFLAGS "$SRCDIR/configure" -q --cache-file=cache "$@") \
		>"$work/out" 2>&1
	got=$?
	[ "$got" -eq "$want" ] || { cat "$work/out"; fail "configure $*: exit $got, not $want"; }
}
