#!/bin/sh
# The training step of each model is as far from the limit of the machine as on record
# (tests/bench/limit_ratios.txt); more than a fifth less is a loss.  Other load disturbs one
# measurement: a model may try eight times.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "bench_ratio.sh: $1" >&2; exit 1; }
if grep -qE '__(asan|tsan)_init' "$RECSYS_TRAIN"; then
	echo 'skipped: a sanitizer changes what things cost'
	exit 77
fi

grep -v '^#' "$SRCDIR/tests/bench/limit_ratios.txt" > "$dir/record"
[ -s "$dir/record" ] || fail "nothing is on record"
skip=
while read -r model kernels record; do
	[ "$model" != "$skip" ] || continue
	for _ in 1 2 3 4 5 6 7 8; do
		"$RECSYS_TRAIN" bench --model "$model" --rows 8192 --seconds 2 -j 1 --json > "$dir/out" ||
			fail "$model: exit $?"
		ratio=$(tr ',' '\n' < "$dir/out" | sed -n 's/^"limit_ratio"://p' | head -n 1)
		these=$(tr ',' '\n' < "$dir/out" | sed -n 's/^"kernels":"\(.*\)"/\1/p' | head -n 1)
		[ -n "$these" ] || fail "$model: no kernels are named"
		[ "$kernels" = '*' ] || [ "$kernels" = "$these" ] || continue 2
		skip=$model
		echo "$model: $ratio of the limit, $record on record"
		awk "BEGIN { exit !($ratio >= 0.8 * $record) }" && continue 2
	done
	fail "$model: $ratio of the limit is more than a fifth less than the $record on record"
done < "$dir/record"
