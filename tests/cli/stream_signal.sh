#!/bin/sh
# A signal ends a run that waits for rows: of a pipe that nobody writes to, of one whose writer is
# silent, of standard input.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_spec s.ini
mkfifo nobody quiet

# stops WHAT COMMAND...: it runs for as long as nothing comes, and then ends with 143.
stops() {
	what=$1
	shift
	: >err
	"$@" >out 2>err & pid=$!
	tries=0
	until grep -q ' run r0' err || [ $((tries += 1)) -ge 300 ]; do sleep 0.1; done
	kill -0 $pid 2>/dev/null || { echo "$what: ended before the signal" >&2; cat err >&2; exit 1; }
	kill -TERM $pid
	tries=0
	while kill -0 $pid 2>/dev/null && [ $((tries += 1)) -lt 300 ]; do sleep 0.1; done
	kill -KILL $pid 2>/dev/null && echo "$what: still there 30 s after the signal" >&2
	wait $pid
	code=$?
	[ $code = 143 ] || { echo "$what: exit $code" >&2; cat err >&2; exit 1; }
	grep -q 'stopped by signal 15' err || { cat err >&2; exit 1; }
}

stops 'a pipe without a writer' "$T" train s.ini -v -f m1 -d nobody
sleep 120 >quiet & writer=$!
stops 'a silent pipe' "$T" train s.ini -v -f m2 -d quiet
kill $writer
sleep 120 >quiet & writer=$!
stops 'standard input' sh -c 'exec "$0" train s.ini -v -f m3 -d - <quiet' "$T"
kill $writer
expect 0 "$T" runs list
[ "$(grep -c interrupted out)" -ge 3 ] || { cat out >&2; exit 1; }

# Who writes then is read.
cat train.tsv >nobody &
expect 0 "$T" train s.ini -f m4 -d nobody -v
grep -q '300 rows' err || { cat err >&2; exit 1; }
echo 'stream_signal: all as wanted'
