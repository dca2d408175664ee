#!/bin/sh
# plan: what it prints, that it writes nothing, and what it refuses.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

expect 0 "$T" synth --layout criteo --rows 9000 -O log.tsv --no-header --spec-out s.ini
listing() { ls | grep -v -e '^out$' -e '^err$' -e '^before$'; }
listing >before
expect 0 "$T" plan s.ini --workers 2 --ps 2
for line in 'inputs     1 file' 'model      52 tables' 'placement  hybrid: 2 shards' \
	'processes  2 workers' 'dense      shm' 'rows       sync, gradients as fp32' \
	'shard 0' 'shard 1' 'balance' 'traffic    a step of 4096 rows: pull' 'memory     worker'; do
	grep -qF "$line" out || { echo "no '$line' in:" >&2; cat out >&2; exit 1; }
done
[ "$(listing)" = "$(cat before)" ] || { echo 'plan wrote files' >&2; exit 1; }
expect 0 "$T" plan s.ini --workers 2 --ps 2 --json
command -v python3 >/dev/null 2>&1 && { python3 - out <<'END' || exit 1
import json, sys
p = json.load(open(sys.argv[1]))
assert p["mode"] == "hybrid" and p["workers"] == 2 and len(p["shards"]) == 2, p
assert len(p["tables"]) == 52 and sum(t["parameters"] for t in p["tables"]) == p["embedding_parameters"]
assert sum(s["rows"] for s in p["shards"]) == sum(t["rows"] for t in p["tables"])
assert p["pull_bytes_a_step"] > 0 and p["push_bytes_a_step"] > 0
END
}
# int8 is a third of fp32.
bytes() { sed -n 's/.*"push_bytes_a_step":\([0-9]*\).*/\1/p' out; }
fp32=$(bytes)
expect 0 "$T" plan s.ini --workers 2 --ps 2 --json -o placement.compress=int8
[ "$(bytes)" -lt $((fp32 / 2)) ] || { echo "int8 pushes $(bytes) bytes, fp32 $fp32" >&2; exit 1; }
expect 0 "$T" plan s.ini --sample 0
grep -q 'placement  local: one process' out || exit 1
expect 78 "$T" plan s.ini --workers 9 --sample 0
grep -q '9 workers, but a batch has 8 slots' err || exit 1
expect 66 "$T" plan s.ini --workers 2 --ps 1 -o data.train=nothing.tsv
# A log of less than one batch is trained as one smaller one, and planned so.
head -n 1000 log.tsv >few.tsv
expect 0 "$T" plan s.ini -o data.train=few.tsv --workers 2 --ps 2
grep -q 'traffic    a step of 1000 rows: pull' out || { cat out >&2; exit 1; }
# ... whatever train.batch_size is, if only that is more.
bytes() {
	expect 0 "$T" plan s.ini --json "$@"
	sed 's/.*"worker_bytes":\([0-9]*\).*/\1/' out
}
short=$(bytes -o data.train=few.tsv -o train.batch_size=32768)
[ "$short" = "$(bytes -o data.train=few.tsv -o train.batch_size=65536)" ] ||
	{ echo 'memory of a short log is that of another batch' >&2; exit 1; }
[ "$short" -lt "$(bytes -o train.batch_size=8192)" ] ||
	{ echo 'memory of a short log is that of a longer one' >&2; exit 1; }
head -n 3 log.tsv >fewer.tsv            # than slots
expect 0 "$T" plan s.ini -o data.train=fewer.tsv --workers 2 --ps 2
grep -q 'traffic    a step of 3 rows: pull .* steps/s' out || { cat out >&2; exit 1; }
# The rest behind full batches is not what a step is like.
expect 0 "$T" plan s.ini --workers 2 --ps 2 --sample 3 --json
grep -q '"sampled_batches":2,' out && grep -q '"rows_a_step":4096[,.}]' out ||
	{ cat out >&2; exit 1; }
: >none.tsv
expect 65 "$T" plan s.ini -o data.train=none.tsv
echo 'plan: all as wanted'
