#!/bin/sh
# One log that grows, is rotated while its rows are trained, and goes on: each row is trained
# once, and the model is that of a log that was left alone.
set -u
. "$SRCDIR/tests/cli/incremental_data.sh"
make_hour_spec s.ini
sed -i "s|^train = .*|train = $TMP/log/click*|; s/^file_time.*//; s/^\[data\]/&\ntime = 5/" s.ini
mkdir log

# more K [ROWS]: rows of hour K are written to the log.
more() {
	make_rows "${2:-300}" $((100 + $1)) | awk -v t=$((DAY + 3600 * $1)) -v n="${2:-300}" \
		'{ print $0 "\t" t + int(3600 * NR / (n + 1)) }' >>log/click
	touch -d "@$((DAY + 3600 * $1 + 3599))" log/click
}

for k in 0 1 2 3; do
	more $k
	clock $((k + 1))
	expect 0 "$T" train s.ini --incremental --cron -f alone --db alone.db
	silent "hour $k"
done
current alone v000004 'four hours'
dump alone >want
rm -r log/click

more 0
clock 1
expect 0 "$T" train s.ini --incremental --cron -f m
more 1
clock 2
RECSYS_TRAIN_FAILPOINT="incremental.period=wait:$TMP/go" \
	"$T" train s.ini --incremental --cron -f m >out 2>err & pid=$!
reached go
mv log/click log/click.1
more 2
: >go
ends $pid
[ $code = 75 ] || { echo "exit $code, not 75, when the log was rotated" >&2; cat err >&2; exit 1; }
current m v000001 'a log that was rotated while it was trained'
expect 0 "$T" train s.ini --incremental --cron -f m
silent 'the run after'
clock 3
expect 0 "$T" train s.ini --incremental --cron -f m
gzip log/click.1
more 3
clock 4
expect 0 "$T" train s.ini --incremental --cron -f m
current m v000004 'a log that was rotated'
dump m >have
same want have 'a log that was rotated makes another model'

# inspect shows what was trained.
expect 0 "$T" inspect m --ledger
prints 'data through 2026-11-29T04:00Z'
[ "$(grep -c ' trained ' out)" = 4 ] || { cat out >&2; exit 1; }
grep -q '^2026-11-29T00:00Z  .*/log/click  *0-[0-9]*  *trained  *300  *0  *0$' out || {
	cat out >&2; exit 1; }
expect 0 "$T" inspect m --ledger --json
prints '"mark":"2026-11-29T04:00Z"'
prints '"period":"2026-11-29T03:00Z"'
prints '"use":"trained","rows":300,"skipped":0,"late":0'
expect 0 "$T" train s.ini -f plain --epochs 1 --seed 3
expect 0 "$T" inspect plain --ledger
grep -q '^-  .*/log/click  *all  *trained  *600  *0  *0$' out || { cat out >&2; exit 1; }
exit 0
