#!/bin/sh
# The hourly run as cron starts it: silent when nothing is new, in no time; and one of many
# that start at once.  STARTS (default 50) says how many.
set -u
. "$SRCDIR/tests/cli/incremental_data.sh"
STARTS=${STARTS-50}
make_hours 0 2
make_hour_spec s.ini

# Three hours are due, the fourth is not over.
clock 3
make_hour 3
expect 0 "$T" train s.ini --incremental --cron -f m --log-file log.txt
silent 'three hours'
current m v000003 'three hours'
grep -q ': train s.ini: exit 0 in ' log.txt || { cat log.txt >&2; exit 1; }
rm log/click-20261129-03.tsv
once m 900

# Nothing is new: no word, no version, no run, no time.
best=1000000
for try in $(seq 40); do
	began=$(now_ms)
	"$T" train s.ini --incremental --cron -f m >out 2>err || { cat err >&2; exit 1; }
	took=$(($(now_ms) - began))
	silent 'nothing to do'
	[ $took -ge $best ] || best=$took
	[ "$try" -ge 10 ] && [ $best -lt 50 ] && break
done
current m v000003 'nothing to do'
expect 0 "$T" runs list
[ "$(grep -c '^r0' out)" = 3 ] || { echo 'runs of nothing' >&2; cat out >&2; exit 1; }
echo "nothing to do took $best ms"
case $BUILDDIR in
*asan* | *tsan* | *valgrind*) ;;
*) [ $best -lt 50 ] || { echo 'that is too long' >&2; exit 1; } ;;
esac
expect 0 "$T" train s.ini --incremental -f m -v
says 'nothing new'

# Many start at once; the one that has the model waits until the others are gone.
make_hour 3
clock 4
began=$(now_ms)
for i in $(seq "$STARTS"); do
	(
		code=0
		RECSYS_TRAIN_FAILPOINT="incremental.locked=wait:$TMP/go" \
			"$T" train s.ini --incremental --cron -f m >out.$i 2>err.$i || code=$?
		echo "$code $(($(now_ms) - began))" >.end.$i
		mv .end.$i end.$i
	) &
	started="${started-} $!"
done
reached go
tries=0
while [ "$(ls | grep -c '^end\.')" -lt $((STARTS - 1)) ]; do
	tries=$((tries + 1))
	[ $tries -lt 1500 ] || { echo "$(ls | grep -c '^end\.') ended in 30 s" >&2; exit 1; }
	sleep 0.02
done
current m v000003 'while one waits'
cat end.* | awk '$1 != 75 { print "exit " $1; bad = 1 } END { exit bad }' >&2 || exit 1
slowest=$(cat end.* | awk '$2 > m { m = $2 } END { print m }')
: >go
for pid in $started; do ends "$pid"; done
[ "$(cat end.* | grep -c '^0 ')" = 1 ] || { cat end.* >&2; exit 1; }
cat out.* err.* >said
[ ! -s said ] || { echo 'they said:' >&2; cat said >&2; exit 1; }
current m v000004 'one of many'
once m 1200
expect 0 "$T" runs list
[ "$(grep -c '^r0' out)" = 4 ] || { echo 'runs of those without the model' >&2; cat out >&2; exit 1; }
echo "of $STARTS starts $((STARTS - 1)) ended with 75 within $slowest ms"
[ "$slowest" -lt "${LIMIT_MS-15000}" ] || { echo 'that is too long' >&2; exit 1; }

# Without --cron it says who has the model.
make_hour 4
clock 5
rm -f go go.reached
RECSYS_TRAIN_FAILPOINT="incremental.locked=wait:$TMP/go" \
	"$T" train s.ini --incremental --cron -f m & holder=$!
reached go
expect 75 "$T" train s.ini --incremental -f m
says "locked by process $holder"
expect 75 "$T" train s.ini --incremental -f m --cron -o incremental.lock_warn=0
says "process $holder has held the model 'm' for "
# Figures are those of who holds it.
expect 75 "$T" train s.ini --incremental --cron -f m -o incremental.metrics=m.prom
silent 'a lock that is held as usual'
[ ! -e m.prom ] || { cat m.prom >&2; exit 1; }
# Killed, it leaves the model free at once.
kill -9 $holder
wait $holder 2>/dev/null
expect 0 "$T" train s.ini --incremental --cron -f m
silent 'after a kill'
current m v000005 'after a kill'
once m 1500
make_hour 5
clock 6
expect 0 "$T" train s.ini --incremental --cron -f m -o incremental.metrics=m.prom
for name in $(grep -o 'recsys_train_[a-z_]*' "$SRCDIR/share/prometheus/recsys-train.rules.yml"); do
	grep -q "^$name{model=\"m\"} " m.prom || { echo "no $name:" >&2; cat m.prom >&2; exit 1; }
done
grep -q '^recsys_train_last_exit_code{model="m"} 0$' m.prom || { cat m.prom >&2; exit 1; }
grep -q "^recsys_train_model_period_end_timestamp_seconds{model=\"m\"} $((DAY + 6 * 3600))\$" \
	m.prom || { cat m.prom >&2; exit 1; }
