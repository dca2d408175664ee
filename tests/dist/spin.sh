#!/bin/sh
# The protocol of rounds, pushes and cuts as a model that spin explores wholly: no
# state in which a step is applied twice, lost, or waits for ever.  Without one of its
# guards the proof must fail.  SPIN_FULL=1 explores losses and repeats together.
set -u
command -v spin >/dev/null 2>&1 || { echo 'skipped: spin is not installed'; exit 77; }
directory=$(mktemp -d "${TMPDIR:-/tmp}/recsys-train-spin.XXXXXX") || exit 1
trap 'rm -rf "$directory"' EXIT
trap 'exit 1' INT TERM
cd "$directory" || exit 1
failed=0

# explore NAME OPTIONS...: number of errors that pan found, in $errors.
explore() {
	name=$1
	shift
	spin "$@" -a "$SRCDIR/tests/dist/push.pml" >out 2>&1 &&
		${CC:-cc} -w -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c >>out 2>&1 &&
		./pan -m1000000 >>out 2>&1 || { cat out; exit 1; }
	if grep -qE 'max search depth too small|out of memory' out; then
		echo "$name: not explored wholly" && failed=1
	fi
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
	echo "$name: $(awk '/states, stored/ { print $1 }' out) states, ${errors:-no} errors"
}

holds() {
	explore "$@"
	[ "${errors:-1}" = 0 ] || { echo "FAILED: $1"; failed=1; }
}

breaks() {
	explore "$@"
	[ "${errors:-0}" -gt 0 ] || { echo "FAILED: $1: the guard guards nothing"; failed=1; }
}

holds 'losses' -DLOSSES=1 -DREPEATS=0
holds 'repeats' -DLOSSES=0 -DREPEATS=1
breaks 'without the test of the round' -DNO_EPOCH -DLOSSES=0
breaks 'without dropping repeats' -DNO_DEDUPE -DLOSSES=0
breaks 'without parking pulls' -DNO_PARK -DLOSSES=0
if [ -n "${SPIN_FULL-}" ]; then
	holds 'losses and repeats' -DLOSSES=1 -DREPEATS=1
	holds 'two shards' -DS=2 -DLOSSES=1 -DREPEATS=0
fi
exit $failed
