#!/bin/sh
# A process that stands still for 3 s is waited for: nobody is put out, no round ends.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_spec s.ini
"$T" train s.ini -f m $JOB -j 1 --workers 2 --ps 2 --epochs 100000 2>err & pid=$!
begun m
sleep 0.5
for who in 'coordinator' 'ps --index 0' 'ps --index 1' 'worker --index 0' 'worker --index 1'; do
	victim=$(nodes "$who")
	[ -n "$victim" ] || { echo "no $who" >&2; cat err >&2; exit 1; }
	kill -STOP "$victim"
	sleep 2.9
	kill -CONT "$victim"
	sleep 0.7
	[ "$(nodes "$who")" = "$victim" ] || { echo "$who was put out" >&2; cat err >&2; exit 1; }
	! grep -qE 'goes on|started again|silent' err || { echo "$who:" >&2; cat err >&2; exit 1; }
done
kill -TERM $pid
ends $pid
[ $code = 143 ] || { echo "exit $code" >&2; cat err >&2; exit 1; }
nothing_left 'after stops'
