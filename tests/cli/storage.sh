#!/bin/sh
# embedding.storage = bf16, fp16: the same on any number of threads, stopped or not; files of
# half the weights, which every reader takes; fp32 becomes it and it becomes fp32.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 4000 1 >train.tsv
make_rows 1000 2 >valid.tsv
make_spec s.ini
# Most rows are trained, so that files have all of them.
sed -i 's/^buckets = 200$/buckets = 60/' s.ini
halves 2000
ROUND='-o data.valid=valid.tsv -o train.early_stop=0 -o train.slots=4 -o embedding.dim=7'
table=table-user.0-of-1.bin

# shellcheck disable=SC2086
expect 0 "$T" train s.ini $ROUND -f wide --epochs 2

for storage in bf16 fp16; do
	for kind in hashed exact; do
		# shellcheck disable=SC2086
		set -- $ROUND -o "embedding.storage=$storage" -o "embedding.table=$kind"
		for threads in 1 2 3; do
			expect 0 "$T" train s.ini "$@" -f m$threads -j $threads --epochs 2
			for file in m$threads/v000002/*.bin; do
				same "$file" "m1/v000002/${file##*/}" "$storage $kind: $threads threads"
			done
		done
		expect 0 "$T" train s.ini "$@" -f whole -o data.shuffle=no --epochs 1
		expect 0 "$T" train s.ini "$@" -f half -o data.shuffle=no --epochs 1 -d a.tsv
		expect 0 "$T" train s.ini "$@" -f half -o data.shuffle=no --epochs 1 -d b.tsv -i half
		for file in whole/v000001/table*.bin; do
			same "$file" "half/v000002/${file##*/}" "$storage $kind: stopped and gone on"
		done
		expect 0 "$T" eval m1 valid.tsv
		expect 0 "$T" predict m1 valid.tsv
		[ $kind = hashed ] || { rm -rf m? half whole; continue; }

		# Rows of 14 bytes instead of 28, 61 of them.
		weights() { od -An -tu8 -j48 -N16 "$1/v000002/$table" | awk '{ print $2 - $1 }'; }
		[ "$(weights wide)" -gt $((61 * 28 - 1)) ] || exit 1
		[ "$(weights m1)" -lt $((61 * 14 + 64)) ] || exit 1

		# The figures are nearly those of fp32.
		for m in wide m1; do
			expect 0 "$T" eval $m valid.tsv --json
			sed -n 's/.*"auc":\([0-9.]*\).*/\1/p' out >auc.$m
		done
		awk -v a="$(cat auc.wide)" -v b="$(cat auc.m1)" 'BEGIN {
			if (a < 0.6 || a - b > 0.01 || b - a > 0.01) { print "auc", a, b; exit 1 } }' || exit 1

		# What each number reads as is the same wherever it is read.
		dump m1 >text
		grep -q "^table user .* storage $storage" text || { grep ^table text; exit 1; }
		expect 0 "$T" export m1 --to npz -O m1.npz

		# Going on with another storage: to fp32 nothing is lost, from it a little.
		still='-o embedding.learning_rate=1e-30 -o train.learning_rate=1e-30'
		expect 0 "$T" train s.ini $ROUND $still -f back -i m1 --epochs 1
		expect 0 "$T" inspect back --diff m1
		grep -q '^table user  *changed rows 0 ' out || { cat out; exit 1; }
		expect 0 "$T" train s.ini "$@" $still -f there -i wide --epochs 1
		expect 0 "$T" inspect there --diff wide
		grep -q '^table user  *changed rows [1-9]' out || { cat out; exit 1; }
		rm -rf m? half whole m1.npz back there
	done
done
exit 0
