#!/bin/sh
# An hourly run on a bad day: a clock that was set back, a limit of time, SIGTERM, a run
# database that is locked.  It says so, has its exit code, and the former model serves on.
set -u
. "$SRCDIR/tests/cli/incremental_data.sh"
make_hours 0 2
make_hour_spec s.ini
clock 3
expect 0 "$T" train s.ini --incremental --cron -f whole --db whole.db
dump whole >want

# A clock that is a day behind finds nothing; it goes on when it is right again.
clock 1
expect 0 "$T" train s.ini --incremental --cron -f m
current m v000001 'an hour'
clock -23
expect 0 "$T" train s.ini --incremental --cron -f m
silent 'a clock that was set back'
current m v000001 'a clock that was set back'
serves m
clock 2
expect 0 "$T" train s.ini --incremental --cron -f m
clock -22
expect 0 "$T" train s.ini --incremental --cron -f m
clock 3
expect 0 "$T" train s.ini --incremental --cron -f m
current m v000003 'a clock that was set back and forth'
once m 900
dump m >have
same want have 'a clock that was set back changed the model'
# Runs have the times that the clock showed, and are listed all the same.
expect 0 "$T" runs list
[ "$(grep -c '^r0' out)" = 3 ] || { cat out >&2; exit 1; }

# SIGTERM, as at a shutdown: the hour is not trained, and the next run begins it anew.
expect 0 env RECSYS_TRAIN_FAILPOINT=incremental.trained=sleep:3 \
	"$T" train s.ini --incremental --cron -f t --time-limit 2.5
says 'time limit'
current t v000001 'a time limit'
RECSYS_TRAIN_FAILPOINT="incremental.period=wait:$TMP/go" \
	"$T" train s.ini --incremental --cron -f t 2>err & pid=$!
reached go
kill -TERM $pid
: >go
ends $pid
[ $code = 143 ] || { echo "exit $code after SIGTERM" >&2; cat err >&2; exit 1; }
says 'stopped by signal 15'
current t v000001 SIGTERM
expect 0 "$T" train s.ini --incremental --cron -f t
silent 'the run after SIGTERM'
once t 900
dump t >have
same want have 'SIGTERM changed the model'

# Late rows are told; only those that are left out are a reason to look.
mkdir log/late
sed "s|^train = .*|&,$TMP/log/late/click-*.tsv|" s.ini >late.ini
clock 2
expect 0 "$T" train s.ini --incremental --cron -f late
cp -r late late-skip
make_rows 50 7 >log/late/click-20261129-00.tsv
touch -d "@$((DAY + 3 * 3600))" log/late/*
clock 3
expect 0 "$T" train late.ini --incremental --cron -f late
says 'came after that period was done with, trained with 2026-11-29T02:00Z'
expect 3 "$T" train late.ini --incremental --cron -f late-skip -o incremental.late=skip
says 'never trained'
current late-skip v000003 'late rows'
rm -r log/late

# What was refused is trained again with the hour after it; when it is gone, that is told.
clock 1
expect 0 "$T" train s.ini --incremental --cron -f again -o incremental.rejected=retry
clock 2
expect 1 "$T" train s.ini --incremental --cron -f again -o incremental.rejected=retry \
	--require 'auc>=0.99'
cp -r again gone
clock 3
expect 0 "$T" train s.ini --incremental --cron -f again -o incremental.rejected=retry
silent 'an hour that is trained again'
once again 900
mv log/click-20261129-01.tsv .
expect 0 "$T" train s.ini --incremental --cron -f gone -o incremental.rejected=retry
says 'period 2026-11-29T01:00Z was refused, and '
expect 0 "$T" train s.ini --incremental --cron -f gone -o incremental.rejected=retry
silent 'the run after it'
once gone 600
touch -d "@$((DAY + 2 * 3600))" click-20261129-01.tsv
mv click-20261129-01.tsv log

# The run database is locked for longer than anybody waits: the run does without its record,
# says so, and what the model is does not depend on it.
command -v python3 >/dev/null || { echo 'a locked database is not tried: no python3'; exit 0; }
cat >hold.py <<'END'
import os, sqlite3, time
db = sqlite3.connect("runs.db", isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
open("held", "w").close()
for _ in range(12000):
    if os.path.exists("let go"):
        break
    time.sleep(0.01)
END
cp runs.db copy.db
python3 hold.py & holder=$!
trap 'kill $holder 2>/dev/null; rm -rf "$TMP"' EXIT
tries=0
until [ -e held ]; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || { echo 'nobody holds the database' >&2; exit 1; }
	sleep 0.02
done
make_hour 3
clock 4
serves m
recorded=$("$T" runs list --last 1000 --db copy.db | grep -c '^r0')
expect 0 "$T" train s.ini --incremental --cron -f m
says "run database 'runs.db': locked by another process"
current m v000004 'a locked database'
once m 1200
serves m
: >'let go'
ends $holder
make_hour 4
clock 5
expect 0 "$T" train s.ini --incremental --cron -f m
silent 'a database that is free again'
expect 0 "$T" runs list
[ "$(grep -c '^r0' out)" = $((recorded + 1)) ] || { cat out >&2; exit 1; }
once m 1500
