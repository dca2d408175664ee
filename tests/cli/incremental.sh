#!/bin/sh
# train --incremental: hours come in as files, one by one or many at once.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# hour K [OPTION...]: the file of hour K of 2026-01-01.
hour() {
	k=$1
	shift
	"$T" -q synth --hour-rows 300 --start $((300 * k)) --rows 300 --users 50 --items 20 \
		-O "$(printf 'h-20260101%02d.tsv' "$k")" --force "$@"
}
# run MODEL [OPTION...]
run() {
	model=$1
	shift
	"$T" train s.ini --incremental -f "$model" --db runs.db "$@"
}

hour 0 --spec-out first.ini
sed 's/^train = .*/train = "h-*.tsv"/; s/^batch_size = .*/batch_size = 128/' first.ini >s.ini
cat >>s.ini <<'END'
[incremental]
file_time = h-%Y%m%d%H.tsv
wait = 0
END

# Three hours at once, and again nothing.
hour 1
hour 2
expect 0 run many
[ "$(cat many/CURRENT)" = v000003 ] || fail "three periods, but $(cat many/CURRENT)"
[ -s err ] && fail 'a run that is not watched says something'
expect 0 run many
[ -s err ] || [ -s out ] && fail 'nothing to do, but something to say'
[ "$(cat many/CURRENT)" = v000003 ] || fail 'nothing to do, but a new version'
expect 0 run many -v
says 'nothing new'

# One by one: the same model.
mkdir later
mv h-2026010101.tsv h-2026010102.tsv later
for k in 0 1 2; do
	[ $k = 0 ] || mv later/h-202601010$k.tsv .
	expect 0 run single
	[ "$(cat single/CURRENT)" = "v00000$((k + 1))" ] || fail "hour $k: $(cat single/CURRENT)"
done
dump single >a
dump many >b
same a b 'one by one and all at once differ'

# Each period is a run, scored before it was trained; the first has no model to score.
expect 0 "$T" runs show 1 --db runs.db --metrics
! grep -q progressive.auc out || fail 'the first period was scored'
expect 0 "$T" runs show 3 --db runs.db --metrics
prints progressive.auc
prints progressive.calibration

# A late file goes with the next hour; a copy, and one with other contents, are told.
"$T" -q synth --hour-rows 300 --start 77 --rows 100 --users 50 --items 20 -O h-2026010103.tsv
expect 0 run many
cp h-2026010101.tsv h-2026010104.tsv
hour 5
hour 0 --seed 9
expect 3 run many
says 'h-2026010104.tsv'
says 'h-2026010100.tsv'
[ "$(cat many/CURRENT)" = v000005 ] || fail "late: $(cat many/CURRENT)"

# The gate: labels that are flipped are refused, the old model stays, the next hour is taken.
hour 6
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 1 - $1 } { print }' h-2026010106.tsv >x
mv x h-2026010106.tsv
dump many >before
expect 1 run many --require 'auc>=last-0.005'
says 'auc'
dump many >after
same before after 'a rejected period changed the model'
[ -d many/v000006.rejected ] || fail 'the candidate is gone'
expect 0 run many --require 'auc>=last-0.005'
hour 7
expect 0 run many --require 'auc>=last-0.05'
[ "$(cat many/CURRENT)" = v000007 ] || fail "after the rejected: $(cat many/CURRENT)"
expect 0 "$T" runs list --db runs.db --status rejected
prints rejected

# A condition that no candidate could ever meet is no reason to leave out hours.
expect 78 run new --require 'auc>=0.1'
says 'there is no model yet'
expect 78 run new --require 'gauc>=last'
says 'data] group'
[ ! -e new ] || fail "nothing was to be trained: $(ls new)"
expect 0 run new --require 'auc>=last' --until 2026-01-01T01:00Z
expect 0 run new --require 'auc>=0.1' --until 2026-01-01T02:00Z
hour 8
touch h-2026010108.tsv
expect 0 env RECSYS_TRAIN_NOW=1767258000 "$T" train s.ini --incremental -f many --db runs.db -v \
	-o incremental.wait=5m
says 'period 2026-01-01T08:00Z is not complete: incremental.wait has not passed'
# A dry run says so, too; so does a run that is watched, but no timer.
expect 0 run many -v -n -o incremental.wait=1000d
says 'nothing new to train'
says 'incremental.wait'
if script --version >/dev/null 2>&1; then
	command="$T train s.ini --incremental -f many --db runs.db -o incremental.wait=1000d"
	script -qec "$command" /dev/null </dev/null >tty
	grep -q 'T08:00Z is not complete' tty || fail "a terminal is not told why: $(cat tty)"
	script -qec "$command --cron" /dev/null </dev/null >tty
	[ -s tty ] && fail "at a terminal --cron says $(cat tty)"
	script -qec "$command -q" /dev/null </dev/null >tty
	[ -s tty ] && fail "at a terminal -q says $(cat tty)"
fi

# A model that a plain run made has its files in the ledger, also when an epoch before the
# last was the best: of what learns the opposite of valid, the first is.
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 1 - $1 } { print }' h-2026010100.tsv >flipped.tsv
expect 0 "$T" train s.ini -f batch -d h-2026010100.tsv --valid flipped.tsv --epochs 3 --db runs.db \
	--json
prints '"best_epoch":1'
grep -q '^path=.*h-2026010100.tsv.*rows=300' "batch/$(cat batch/CURRENT)/ledger.txt" ||
	fail 'a model of a plain run has no ledger'
expect 0 run batch --until 2026-01-01T02:00Z --valid flipped.tsv -o incremental.epochs=3
ledger=batch/$(cat batch/CURRENT)/ledger.txt
[ "$(grep -c '^path=.*hash=.*rows=300' "$ledger")" = 2 ] || { cat "$ledger" >&2; exit 1; }

expect 0 "$T" train s.ini -f piped --data-command 'cat h-2026010100.tsv' --db runs.db
! grep -s cat piped/v*/ledger.txt || fail 'a command is no file'

# Usage.
expect 64 run many --resume
expect 64 run many --require 'auc>>1'
expect 78 run many -o incremental.gate=holdout
expect 78 "$T" train s.ini --incremental -f other -o incremental.file_time= -o data.time=
exit 0
