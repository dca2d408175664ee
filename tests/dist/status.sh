#!/bin/sh
# node status: the table of a running job, for people and for programs.
set -u
. "$SRCDIR/tests/dist/job_data.sh"

expect 66 "$T" node status
grep -q 'no job of many processes' err || { cat err; exit 1; }
make_rows 8000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
"$T" train s.ini -f m --workers 2 --ps 2 --valid valid.tsv --epochs 100000 $JOB \
	-o train.early_stop=0 >log 2>&1 & pid=$!
begun m
sleep 4
expect 0 "$T" node status
cp out text
grep -q '^job [0-9a-f]\{16\}: running, round 1' text || { cat text; exit 1; }
for node in 'ps 0' 'ps 1' 'worker 0' 'worker 1'; do
	grep -q "^$node  *running  *[1-9]" text || { echo "no $node"; cat text; exit 1; }
done
grep -q '^ps 0 .* pulls=[1-9]' text || { echo 'a shard reports nothing'; cat text; exit 1; }
expect 0 "$T" node status --json
python3 - out <<'END' || exit 1
import json, sys
job = json.loads(open(sys.argv[1]).read())
assert job["phase"] == "running" and job["round"] == 1, job
assert [n["role"] for n in job["nodes"]] == ["ps", "ps", "worker", "worker"], job
assert all(n["silent"] < 4 and n["pid"] > 0 for n in job["nodes"]), job
END
# Who is killed is gone from it at once, and another process has its place.
old=$(nodes 'ps --index 1')
kill -9 "$old"
sleep 2.5
expect 0 "$T" node status
grep -Eq 'ended because: ps 1 (was killed by signal 9|is gone)' out || { cat out; exit 1; }
grep -q "^ps 1 .* $old " out && { echo 'the dead one is still there'; cat out; exit 1; }
kill -TERM $pid
ends $pid
[ $code = 143 ] || { cat log; exit 1; }
nothing_left 'after status'
expect 66 "$T" node status
