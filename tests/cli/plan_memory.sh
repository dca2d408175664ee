#!/bin/sh
# L039: what plan says a process takes is what it takes, within 5 percent: small tables and
# large ones, many threads, histories, workers and shards.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
if grep -qE '__(asan|tsan)_init' "$T"; then
	echo 'skipped: a sanitizer needs memory of its own'
	exit 77
fi
[ -r /proc/self/status ] || { echo 'skipped: no /proc here'; exit 77; }
grep -q '\[madvise\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || {
	echo 'skipped: memory is not given in pages of 2 MiB where a program asks for them'; exit 77; }

# family PID: it and all below it.
family() {
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		family "$child"
	done
	echo "$1"
}

# peaks COMMAND...: KiB of every process of the run at its largest, in the file peaks.
peaks() {
	"$@" >out 2>err & pid=$!
	tries=0
	: >seen
	while kill -0 $pid 2>/dev/null && [ $((tries += 1)) -lt 3000 ]; do
		for process in $(family $pid); do
			awk -v p="$process" '/^VmHWM/ { print p, $2 }' \
				/proc/"$process"/status 2>/dev/null >>seen
		done
		sleep 0.03
	done
	ends $pid
	[ $code = 0 ] || { echo "exit $code: $*" >&2; cat err >&2; exit 1; }
	awk '$2 > most[$1] { most[$1] = $2 } END { for (p in most) print most[p] }' seen | sort -n >peaks
}

# near WHAT KIB BYTES: the peak against the plan.
near() {
	awk -v what="$1" -v got="$2" -v plan="$3" 'BEGIN {
		plan /= 1024
		printf "%s: plan %.1f MiB, peak %.1f MiB, %+.1f%%\n", what, plan / 1024, got / 1024,
			100 * (plan - got) / got
		exit plan > 1.05 * got || plan < 0.95 * got }' || { failed=1; echo "FAIL: $1" >&2; }
}

# holds NAME SPEC OPTION...: the largest process is a worker.
holds() {
	name=$1
	shift
	expect 0 "$T" plan "$@" --json
	worker=$(sed 's/.*"worker_bytes":\([0-9]*\).*/\1/' out)
	shard=$(sed 's/.*"shard_bytes":\([0-9]*\).*/\1/' out)
	ps=$(sed 's/.*"ps":\([0-9]*\).*/\1/' out)
	peaks "$T" train "$@" -f model -q
	rm -rf model
	[ "$ps" -eq 0 ] && { near "$name" "$(tail -n 1 peaks)" "$worker"; return; }
	# Shards are the larger ones, alike; then worker 0, which has most to do.
	near "$name, shard" "$(tail -n 1 peaks)" "$shard"
	near "$name, worker" "$(sort -rn peaks | sed -n "$((ps + 1))p")" "$worker"
}

failed=0
expect 0 "$T" synth --layout criteo --rows 30000 -O c.tsv --spec-out c.ini -q
expect 0 "$T" synth --layout sequence --rows 30000 --users 3000 --items 2000 -O s.tsv \
	--spec-out s.ini -q
small='field C1..C26.buckets=100'
holds 'small tables' c.ini -j 1 -o "$small" -o train.early_stop=0
# Epochs enough that each thread has had a slot.
holds 'four threads' c.ini -j 4 -o "$small" -o dnn.hidden=200,100 -o train.epochs=4 \
	-o train.early_stop=0
holds 'large tables' c.ini -j 2 -o embedding.dim=12 -o 'field C1..C26.buckets=120000'
holds 'histories' s.ini -j 2 -o train.epochs=2 -o embedding.dim=16
# A log of less than a batch is one smaller batch, and memory is that of it.
head -n 3000 c.tsv >few.tsv
holds 'less than a batch' c.ini -j 2 -o data.train=few.tsv -o train.batch_size=65536 \
	-o embedding.dim=8 -o 'field C1..C26.buckets=100000' -o train.early_stop=0
if "$T" --version | grep -q zmq; then
	# So many rows that they are still read when the first step is done: what parsers take is
	# given back before, else, and the plan is for both.
	expect 0 "$T" synth --layout criteo --rows 60000 -O c.tsv --spec-out c.ini -q --force
	holds 'shards' c.ini -j 1 --workers 2 --ps 2
fi
exit $failed
