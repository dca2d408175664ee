#!/bin/sh
# B097: data streams.  The peak of a run over 110 MB of text stays within the
# tables, their slots and 150 MB, and does not grow with the data.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
if grep -qE '__(asan|tsan)_init' "$T"; then
	echo 'skipped: a sanitizer needs memory of its own'
	exit 77
fi
[ -r /proc/self/status ] || { echo 'skipped: no /proc here'; exit 77; }

# peak COMMAND...: the largest resident size of the command in KiB, in $peak.
peak() {
	"$@" >out 2>err & pid=$!
	peak=0 tries=0
	while kill -0 $pid 2>/dev/null && [ $((tries += 1)) -lt 6000 ]; do
		now=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null)
		[ "${now:-0}" -gt "$peak" ] && peak=$now
		sleep 0.02
	done
	ends $pid
	[ $code = 0 ] || { echo "exit $code: $*" >&2; cat err >&2; exit 1; }
}

expect 0 "$T" synth --layout criteo --rows 500000 -O big.tsv --no-header --spec-out s.ini
expect 0 "$T" synth --layout criteo --rows 50000 -O small.tsv --no-header
sed -i "s/^buckets = .*/buckets = 20000/" s.ini
set -- -o embedding.dim=8 -o dnn.hidden=16 -o train.early_stop=0
for f in small big; do
	peak "$T" train s.ini -d $f.tsv -f m.$f --fresh "$@" -o data.shuffle=yes
	eval "peak_$f=$peak"
done
# 26 tables of at most 20,001 rows: 8 + 1 weights and as many accumulators.
tables=$((26 * 20001 * 9 * 2 * 4 / 1024))
echo "peak $peak_big KiB over $(wc -c <big.tsv) bytes, $peak_small KiB over $(wc -c <small.tsv); tables $tables KiB"
[ "$peak_big" -lt $((tables * 115 / 100 + 150 * 1024)) ] || { echo 'too much memory' >&2; exit 1; }
[ "$peak_big" -lt $((peak_small + 64 * 1024)) ] || { echo 'memory grows with the data' >&2; exit 1; }
