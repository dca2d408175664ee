#!/bin/sh
# train --incremental --workers: periods trained by many processes, also when these are killed.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
# hour K: its file.
hour() {
	make_rows 1500 $((k + 7)) >"$(printf 'h-20260101%02d.tsv' "$1")"
}
for k in 0 1 2; do
	hour $k
done
make_spec s.ini
sed -i 's/^train = .*/train = h-*.tsv/' s.ini
cat >>s.ini <<'END'
[incremental]
file_time = h-%Y%m%d%H.tsv
wait = 0
END
# run MODEL [OPTION...]
run() {
	model=$1
	shift
	timeout -k 9 120 "$T" train s.ini --incremental -f "$model" --db runs.db $JOB "$@"
}

expect 0 run whole --require 'auc>=last-0.3'
dump whole >want
expect 0 run m --require 'auc>=last-0.3' --workers 2 --ps 2
dump m >have
same want have 'periods in a job: another model'
nothing_left 'after periods'
[ "$(cat m/CURRENT)" = v000003 ] || { echo "current is $(cat m/CURRENT)" >&2; exit 1; }
expect 0 "$T" runs show last --db runs.db --json
prints '"progressive.auc"'
prints '"lookup":"remote"'

# The gate says no: the old model stays.
k=3
hour 3
awk -F '\t' -v OFS='\t' '{ $1 = 1 - $1; print }' h-2026010103.tsv >x
mv x h-2026010103.tsv
expect 1 run m --require 'auc>=last-0.01' --workers 2
[ "$(cat m/CURRENT)" = v000003 ] || { echo "current is $(cat m/CURRENT)" >&2; exit 1; }
[ -d m/v000004.rejected ] || { ls m >&2; exit 1; }
dump m >have
same want have 'a rejected period changed the model'

# Nodes are killed: the period begins anew, and the model is the same.
"$T" train s.ini --incremental -f killed --db runs.db $JOB --workers 2 --ps 1 \
	-o incremental.epochs=15 2>err &
pid=$!
begun killed
sleep "$(between 0.1 0.6)"
kill -9 $(nodes worker\ --index\ 1) 2>/dev/null
ends $pid
[ $code = 0 ] || { echo "exit $code after a worker was killed" >&2; cat err >&2; exit 1; }
dump killed >have
expect 0 run calm -o incremental.epochs=15
dump calm >want
same want have 'a worker that was killed changed the model'

# SIGTERM: nothing half done; the next run does it.
"$T" train s.ini --incremental -f stopped --db runs.db $JOB --workers 2 --ps 1 \
	-o incremental.epochs=15 2>err &
pid=$!
begun stopped
sleep "$(between 0.1 0.4)"
kill -TERM $pid
ends $pid
[ $code = 143 ] || [ $code = 0 ] || { echo "exit $code after SIGTERM" >&2; cat err >&2; exit 1; }
nothing_left 'after SIGTERM'
expect 0 run stopped -o incremental.epochs=15 --workers 2 --ps 1
dump stopped >have
same want have 'SIGTERM changed the model'
