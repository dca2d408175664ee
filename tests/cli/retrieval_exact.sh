#!/bin/sh
# In-batch softmax with logq over items of an exact table, or of one of several rounds: how often
# an item comes up is counted by item.  The same on any threads, in a job, stopped or not.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

make_pairs 2000 1 >train.tsv
make_pairs 300 2 >valid.tsv
make_pairs_spec s.ini 20 ''
cat >>s.ini <<'END'
epochs = 2
slots = 4
[items]
key = item
[eval]
metrics = recall@20
candidates = catalogue
END

for kind in table=exact rounds=2; do
	set -- -o "embedding.$kind"
	for threads in 1 2 3; do
		expect 0 "$T" train s.ini "$@" -f m$threads -j $threads
		for file in m$threads/v000001/*.bin; do
			same "$file" "m1/v000001/${file##*/}" "$kind: $threads threads"
		done
	done
	expect 0 "$T" eval m1 valid.tsv --json
	grep -q '"recall@20":0\.[1-9]' out || { cat out; exit 1; }

	# 60 items, of 32 bytes each behind a head of 32.
	[ "$(wc -c <m1/v000001/frequency.bin)" = $((32 + 32 * $(cut -f 3 train.tsv | sort -u | wc -l))) ] ||
		fail "$kind: $(wc -c <m1/v000001/frequency.bin) bytes of frequencies"

	# Counts go on where they stopped.
	halves 1000
	expect 0 "$T" train s.ini "$@" -f whole -o data.shuffle=no -o train.epochs=1
	expect 0 "$T" train s.ini "$@" -f half -o data.shuffle=no -o train.epochs=1 -d a.tsv
	expect 0 "$T" train s.ini "$@" -f half -i half -o data.shuffle=no -o train.epochs=1 -d b.tsv
	for file in frequency.bin table-item.0-of-1.bin; do
		same "whole/v000001/$file" "half/v000002/$file" "$kind: stopped and gone on"
	done

	"$T" --version | grep -qw zmq || continue
	for where in '--workers 2 --ps 2' '--workers 2 --ps 0 -o placement.mode=allreduce'; do
		rm -rf job
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini "$@" -f job $where -o placement.min_shard_bytes=1
		dump m1 >want
		dump job >have
		same want have "$kind: $where"
		same m1/v000001/frequency.bin job/v000001/frequency.bin "$kind: $where"
	done
	rm -rf m? whole half job
done

# Buckets of 20 for 60 items count several items as one, so these are others.
expect 0 "$T" train s.ini -f hashed
[ "$(wc -c <hashed/v000001/frequency.bin)" -le $((32 + 32 * 20)) ] || exit 1
exit 0
