#!/bin/sh
# train --incremental, rejected = retry: a refused hour is trained again with the one after it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
# hour K FILE
hour() {
	"$T" -q synth --hour-rows 1000 --start $((1000 * $1)) --rows 1000 -O "$2" --force
}
# flip FILE: labels the other way round.
flip() {
	awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 1 - $1 } { print }' "$1" >x
	mv x "$1"
}
run() { "$T" train s.ini --incremental -f m --db runs.db "$@"; }

"$T" -q synth --rows 10 -O x --spec-out first.ini
sed 's/^train = .*/train = "h-*.tsv"/; s/^batch_size = .*/batch_size = 256/' first.ini >s.ini
cat >>s.ini <<'END'
[incremental]
file_time = h-%Y%m%d%H.tsv
wait = 0
rejected = retry
require = auc>=last-0.01
END
for k in 0 1 2; do
	hour $k h-202601010$k.tsv
done
expect 0 run
hour 3 h-2026010103.tsv
flip h-2026010103.tsv
expect 1 run
says '1 of 1 periods rejected; period 2026-01-01T03:00Z'
says 'auc'
[ "$(cat m/CURRENT)" = v000003 ] || fail 'a rejected hour became current'

# Alone it is not tried again; with the next hour it is, here mended.
expect 0 run
[ "$(cat m/CURRENT)" = v000003 ] || fail 'a rejected hour was taken without another'
hour 3 h-2026010103.tsv
hour 4 h-2026010104.tsv
expect 0 run
expect 0 "$T" inspect m --ledger
[ "$(grep -c ' trained ' out)" = 5 ] || fail "five hours, but: $(cat out)"
grep -q rejected out && fail 'the hour is still rejected'

# With skip it is never trained, and the ledger says so.
hour 5 h-2026010105.tsv
flip h-2026010105.tsv
expect 1 run -o incremental.rejected=skip
hour 6 h-2026010106.tsv
expect 0 run -o incremental.rejected=skip
expect 0 "$T" inspect m --ledger
grep '05:00Z' out | grep -q rejected || fail "hour 5 is not recorded as rejected: $(cat out)"
grep '06:00Z' out | grep -q trained || fail 'hour 6 was not trained'
exit 0
