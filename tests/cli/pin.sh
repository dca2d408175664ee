#!/bin/sh
# train.pin_threads: every training thread but the first keeps to a core of its own, all others
# may go anywhere in the mask; the model is the same; where it does not hold, a warning says why.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 5000 1 >train.tsv
make_spec s.ini
allowed() {
	sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' "$1/status" 2>/dev/null
}
mask=$(allowed /proc/self)
expect 0 "$T" train s.ini -f free -j 2 -o train.slots=2 --epochs 2 -q
expect 0 "$T" train s.ini -f pinned -j 2 -o train.slots=2 --epochs 2 -q -o train.pin_threads=yes
dump free >free.dump
dump pinned >pinned.dump
same free.dump pinned.dump 'train.pin_threads changed the model'

expect 0 "$T" train s.ini -f one -j 1 --epochs 1 -o train.pin_threads=yes
grep -q pin_threads err && { cat err >&2; exit 1; }
one=${mask%%[-,]*}
expect 0 taskset -c "$one" "$T" train s.ini -f few -j 2 -o train.slots=2 --epochs 1 -o train.pin_threads=yes
if grep -q 'quota of the control group' err; then
	echo 'SKIP: a quota of the control group is set' >&2
	exit 0
fi
says 'train.pin_threads: threads are not put on cores: there are more threads than cores'
if [ "$mask" = "$one" ]; then
	echo 'SKIP: the rest needs two cores' >&2
	exit 0
fi

"$T" train s.ini -f long -j 2 -o train.slots=2 --epochs 100000 -q -o train.pin_threads=yes -o train.early_stop=0 \
	>/dev/null 2>long.err &
run=$!
trap 'kill -9 $run 2>/dev/null' EXIT
tries=0
pinned=
while [ -z "$pinned" ] && [ $tries -lt 200 ]; do
	sleep 0.1
	tries=$((tries + 1))
	for task in /proc/$run/task/*; do
		[ "$(cat "$task/comm" 2>/dev/null)" = worker ] || continue
		now=$(allowed "$task")
		[ "$now" = "$mask" ] || pinned=$now
	done
done
case $pinned in
'' | *[!0-9]*) echo "a worker thread may run on '$pinned', wanted one core" >&2; exit 1 ;;
esac
[ "$(allowed /proc/$run)" = "$mask" ] || { echo 'the first thread is not free' >&2; exit 1; }
for task in /proc/$run/task/*; do
	[ "$(cat "$task/comm" 2>/dev/null)" != worker ] || continue
	now=$(allowed "$task")
	[ -z "$now" ] || [ "$now" = "$mask" ] ||
		{ echo "thread $(cat "$task/comm") is on '$now'" >&2; exit 1; }
done
kill -9 $run
exit 0
