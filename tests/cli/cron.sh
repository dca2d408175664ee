#!/bin/sh
# train --cron: who hears what; and what RECSYS_TRAIN_NOW and _FAILPOINT do for tests.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
unset RECSYS_TRAIN_NOW RECSYS_TRAIN_FAILPOINT
make_rows 400 1 >train.tsv
make_spec s.ini

silent() {
	[ ! -s out ] && [ ! -s err ] && return
	echo "$1 said something:" >&2
	cat out err >&2
	exit 1
}

# A run that ends well: nothing on both outputs, one line in the log file.
expect 0 "$T" train s.ini -f m --cron --log-file log
silent 'a run with --cron'
[ "$(wc -l <log)" = 1 ] || { cat log >&2; exit 1; }
grep -q '^recsys-train: train s.ini: exit 0 in [0-9.]* s: run r0001 ok, 400 rows, v000001$' log ||
	{ cat log >&2; exit 1; }
expect 0 "$T" train s.ini -f m --fresh --cron --log-file log.json --log-format json
grep -q '"level":"info","text":"train s.ini: exit 0' log.json || { cat log.json >&2; exit 1; }

# Warnings and errors are for cron to mail; the line has the error as well.
printf '1\tu1\n' >>train.tsv
: >log
expect 3 "$T" train s.ini -f m --fresh --cron --log-file log -o data.on_bad_row=skip
says 'warning'
grep -q ': train s.ini: exit 3 in .* 1 .*; run r0003 partial, 400 rows, v000003' log ||
	{ cat log >&2; exit 1; }
: >log
expect 65 "$T" train s.ini -f m --fresh --cron --log-file log
says 'error: '
grep -q 'recsys-train: train s.ini: exit 65 in ' log || { cat log >&2; exit 1; }
expect 64 "$T" train s.ini -f m --cron --nonsense
says 'unknown option'

# A lock that is held as usual is no news; one that is held for too long is.
make_rows 400 1 >train.tsv
RECSYS_TRAIN_FAILPOINT="checkpoint.before_rename=wait:$TMP/go" \
	"$T" train s.ini -f m --fresh & pid=$!
tries=0
until [ -e go.reached ]; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || { echo 'the failpoint was not reached' >&2; exit 1; }
	sleep 0.02
done
: >log
expect 75 "$T" train s.ini -f m --fresh --cron --log-file log
silent 'a lock that is held as usual'
grep -q "train s.ini: exit 75 in .*: the model 'm' is locked by process $pid" log ||
	{ cat log >&2; exit 1; }
expect 75 "$T" train s.ini -f m --fresh --cron -o incremental.lock_warn=0
says "process $pid has held the model 'm' for "
says 'lock_warn'
# Whatever the clock says: it was set back, or far ahead.
expect 75 env RECSYS_TRAIN_NOW=1000000000 "$T" train s.ini -f m --fresh --cron -o incremental.lock_warn=1h
silent 'a lock and a clock that was set back'
expect 75 env RECSYS_TRAIN_NOW=4000000000 "$T" train s.ini -f m --fresh --cron -o incremental.lock_warn=1h
silent 'a lock and a clock that was set ahead'
# What is typed wins over what --cron stands for, wherever it stands.
(sleep 0.3; : >go) &
expect 0 "$T" train s.ini -f m --lock-wait 60 --cron --fresh
silent 'waiting for a lock'
ends $pid; [ $code = 0 ] || { echo 'the holder failed' >&2; exit 1; }
expect 0 "$T" runs list
[ "$(grep -c failed out)" = 1 ] || { echo 'a lock that was not had is a run' >&2; cat out >&2; exit 1; }

# A process that was killed while it started another may seem to hold the lock for a moment.
if command -v flock >/dev/null; then
	sh -c 'echo $$ >m/LOCK'
	flock m/LOCK sleep 0.5 & holder=$!
	sleep 0.2
	expect 0 "$T" train s.ini -f m --cron --fresh
	ends $holder 20
	sh -c 'echo $$ >m/LOCK'
	flock m/LOCK sleep 60 & holder=$!
	sleep 0.2
	expect 75 "$T" train s.ini -f m --fresh
	pkill -P $holder
	kill $holder 2>/dev/null
	ends $holder 20
fi

# Failpoints and clocks that are none.
expect 64 env RECSYS_TRAIN_FAILPOINT=x=y "$T" check s.ini
says "failpoint 'x=y'"
expect 64 env RECSYS_TRAIN_NOW=noon "$T" check s.ini
says "RECSYS_TRAIN_NOW 'noon'"
expect 0 env RECSYS_TRAIN_NOW=1000000000 "$T" train s.ini -f then
expect 0 "$T" runs show last --json
prints '"started":"2001-09-09T01:46:4'
