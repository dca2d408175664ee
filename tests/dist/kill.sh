#!/bin/sh
# kill -9 of any process of a job at any moment: the run ends by itself, with the dump of an
# undisturbed one.  KILLS (default 1) says how often each role is killed.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
KILLS=${KILLS:-${1:-1}}
make_rows 8000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
set -- --valid valid.tsv --epochs 6 $JOB -o train.early_stop=0 -o train.checkpoint_every=0.1 \
	-o cluster.bucket_bytes=300 \
	-o data.row_group=20k -o data.shuffle_window=60k -o dnn.dropout=0.1

expect 0 "$T" train s.ini -f whole "$@"
dump whole >want

# L056: a worker that dies changes no loss; L042: nor does one of three shards; none hangs the
# job.
round=0 told=0
for role in 'worker --index 1' 'worker --index 0' 'ps --index 1' coordinator; do
	kill=0
	while [ $kill -lt "$KILLS" ]; do
		kill=$((kill + 1)) round=$((round + 1))
		m=m$round
		timeout -k 9 120 "$T" train s.ini -f $m --workers 2 --ps 3 "$@" --json -P none >out 2>err &
		pid=$!
		begun $m
		wait_for=$(between 0 0.7)
		sleep "$wait_for"
		victim=$(nodes "$role")
		[ -z "$victim" ] || kill -9 $victim 2>/dev/null
		ends $pid
		[ $code = 0 ] || {
			echo "$role killed after $wait_for s: exit $code" >&2
			cat err >&2
			exit 1
		}
		# Read once each and trained, however often.
		grep -q '"rows":48000,.*"rows_read":48000,.*"epochs":6,' out || {
			echo "$role killed after $wait_for s: other rows" >&2; cat out >&2; exit 1; }
		dump $m >have
		same want have "$role killed after $wait_for s: another model"
		grep -q "^recsys-train: warning: ${role%% *}.*killed by signal 9.*started again" err &&
			told=$((told + 1))
		nothing_left "after $role was killed"
		rm -rf $m
	done
done

# Some were killed too late to be wanted again.
[ $told -ge "$KILLS" ] || { echo "$told of $round nodes were started again" >&2; exit 1; }

# L045: nobody outlives the launcher by more than a second; --resume goes on.
kill=0
while [ $kill -lt "$KILLS" ]; do
	kill=$((kill + 1))
	"$T" train s.ini -f orphan --workers 2 --ps 2 "$@" >out 2>err & pid=$!
	begun orphan
	sleep "$(between 0 1)"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	sleep 1
	[ -z "$(nodes .)" ] || { echo 'nodes outlived the launcher' >&2; nodes . >&2; exit 1; }
	nothing_left 'after the launcher was killed'
	expect 0 timeout -k 9 60 "$T" train s.ini -f orphan "$@" --workers 3 --ps 1 --resume
	dump orphan >have
	same want have 'launcher killed and --resume: another model'
	rm -rf orphan
done

# L044: a shard that is stopped for longer than a lease is started again or comes back.
timeout -k 9 120 "$T" train s.ini -f stopped --workers 2 --ps 2 "$@" -o cluster.lease=1.5 \
	-o cluster.heartbeat=0.3 >out 2>err & pid=$!
begun stopped
sleep 0.3
victim=$(nodes 'ps --index 0')
kill -STOP $victim
sleep 3
kill -CONT $victim 2>/dev/null
ends $pid
[ $code = 0 ] || { echo "a stopped shard: exit $code" >&2; cat err >&2; exit 1; }
dump stopped >have
same want have 'a stopped shard: another model'
nothing_left 'after a stop'

# Worker 0 killed between the final version and the record of the run: the figures are there.
try=0 hits=0
while [ $try -lt 4 ]; do
	try=$((try + 1))
	timeout -k 9 120 "$T" train s.ini -f final --workers 2 --ps 2 "$@" --fresh --epochs 2 \
		-o train.checkpoint_every=0 --json -P none >out 2>err & pid=$!
	begun final
	victim=$(nodes 'worker --index 0')
	# Who has ended, waited for or not, has no /proc/PID/exe.
	while [ ! -e final/CURRENT ] && [ -e /proc/$pid/exe ]; do :; done
	kill -9 $victim 2>/dev/null
	ends $pid
	[ $code = 0 ] || { echo "worker 0 killed at the end: exit $code" >&2; cat err >&2; exit 1; }
	grep -q 'worker 0 was killed' err && hits=$((hits + 1))
	grep '"message_type":"summary"' out | tail -n 1 >summary
	sed 's/.*"valid":\({[^}]*}\).*"epochs":\([0-9]*\),"best_epoch":\([0-9]*\).*/\1 \2 \3/' \
		summary >have
	[ $try = 1 ] || same first have 'worker 0 killed at the end: other figures'
	[ $try -gt 1 ] || mv have first
	grep -q '"status":"ok".*"auc":.*"rows_read":16000,' summary || {
		echo 'worker 0 killed at the end: no figures' >&2; cat out err >&2; exit 1; }
	expect 0 "$T" runs show last --json --db runs.db
	prints '"status":"ok"'
	nothing_left 'after worker 0 was killed at the end'
	rm -rf final
done
echo "worker 0 was killed at the end $hits times of $try"

# The time limit and the seconds of the summary are those of the run, not of its last round.
began=$(date +%s%N)
timeout -k 9 120 "$T" train s.ini -f limited --workers 2 --ps 1 "$@" --epochs 100000 --time-limit 3 \
	--json -P none >out 2>err & pid=$!
begun limited
sleep 1.2
kill -9 $(nodes 'worker --index 1')
sleep 0.8
kill -9 $(nodes 'worker --index 0') 2>/dev/null
ends $pid
took=$((($(date +%s%N) - began) / 1000000))
[ $code = 0 ] || { echo "a time limit: exit $code" >&2; cat err >&2; exit 1; }
seconds=$(sed -n 's/.*"message_type":"summary".*"seconds":\([0-9.]*\).*/\1/p' out)
awk -v s="$seconds" -v took=$took 'BEGIN { exit !(s >= 3 && took / 1000 - s < 1.1) }' ||
	{ echo "$seconds s of $took ms" >&2; cat out >&2; exit 1; }
nothing_left 'after a time limit'
