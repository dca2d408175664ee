#!/bin/sh
# A limit of the address space that leaves no room for products is told; OpenBLAS alone would ask
# for memory for ever.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
if grep -qE '__(asan|tsan)_init' "$T"; then
	echo 'skipped: a sanitizer needs address space of its own'
	exit 77
fi
make_rows 1000 1 >train.tsv
make_spec s.ini
# From a limit with room for little more than the program to one with room for all, each run ends
# by itself: it says what it lacks, or trains.
said=0
for limit in 200000 250000 300000 350000 400000 500000 600000 2000000; do
	(ulimit -v $limit && exec timeout --foreground -k 1 5 "$T" --version) >out 2>err || continue
	got=0
	(ulimit -v $limit && exec timeout --foreground -k 9 60 "$T" train s.ini --fresh -f m -j 4 \
		-o train.slots=4) >out 2>err || got=$?
	case $got in
	0 | 71) ;;
	*) cat err; fail "limit $limit: exit $got" ;;
	esac
	! grep -q 'leaves no room for OpenBLAS' err || said=$((said + 1))
done
[ "$got" = 0 ] || fail 'the largest limit was not enough'
[ "$said" -gt 0 ] || fail 'no run lacked room for products'
