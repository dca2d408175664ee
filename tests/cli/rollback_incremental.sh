#!/bin/sh
# rollback and gc of a model that is retrained by the hour: the hours after the older version are
# trained again, once, and the model is the same as without it.
set -u
[ ! -w /dev/shm ] || export TMPDIR="${TMPDIR-/dev/shm}"
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
day=1795910400                         # 2026-11-29T00:00Z
mkdir log
for hour in 0 1 2 3 4; do
	make_rows 300 $((100 + hour)) >log/click-20261129-0$hour.tsv
	touch -d "@$((day + 3600 * hour + 3600))" log/click-20261129-0$hour.tsv
done
make_spec s.ini
sed -i "s|^train = .*|train = $TMP/log/click-*.tsv|" s.ini
cat >>s.ini <<-END
	keep = 9
	[incremental]
	file_time = click-%Y%m%d-%H.tsv
	publish = serve
	command = echo \$RECSYS_VERSION >>$TMP/told
END

# hours N: a run of cron at ten past hour N.
hours() {
	now=$((day + 3600 * $1 + 600))
	shift
	RECSYS_TRAIN_NOW=$now "$T" train s.ini --incremental -f m "$@"
}

# is VERSION WANT: current and served are this version, whose dump is that of the file WANT.
is() {
	[ "$(cat m/CURRENT)" = "$(printf "v%06d" "$1")" ] || { echo "not $1: $(cat m/CURRENT)"; exit 1; }
	[ "$(readlink serve/current)" = "$1" ] || { ls -l serve; exit 1; }
	for model in m serve/current; do
		dump $model >got
		same "$2" got "$model is another model"
	done
	[ -z "$(ls -A m serve | grep -e '^\.tmp' -e PENDING)" ] || { ls -A m serve; exit 1; }
}

# uses WORD...: what became of the hours in the ledger of the current version.
uses() {
	have=$(sed -n 's/^path=.*\tuse=\([a-z]*\).*/\1/p' "m/$(cat m/CURRENT)/ledger.txt")
	[ "$have" = "$(printf '%s\n' "$@")" ] || {
		cat "m/$(cat m/CURRENT)/ledger.txt"
		exit 1
	}
}

expect 0 hours 2
dump m >two
expect 0 hours 4
dump m >four
is 4 four
expect 0 "$T" rollback m 2
prints 'v000002 is current instead of v000004'
prints 'the next train --incremental begins at 2026-11-29T02:00Z'
is 2 two
expect 0 hours 4
is 6 four
uses trained trained trained trained

# What the gate refused since is judged again.
expect 1 hours 5 --require 'auc>=1'
is 6 four
expect 0 hours 5 --require 'auc>=1'
is 6 four
expect 0 "$T" rollback m 5
grep -q '^rollback: back to v000005; gate: ' m/v000007.rejected/REJECTED || exit 1
expect 0 hours 5
dump m >five
is 9 five
uses trained trained trained trained trained

# A rollback that was killed is ended by the next run, which keeps what it puts aside.
RECSYS_TRAIN_FAILPOINT=checkpoint.after_current=kill expect 137 "$T" rollback m 5
[ "$(cat m/CURRENT)" = v000005 ] && [ -d m/v000009 ] && [ -e m/PENDING ] || exit 1
expect 0 hours 5
is 11 five
[ -e m/v000009.rejected/REJECTED ] && [ -e m/v000008.rejected/REJECTED ] || { ls m; exit 1; }

# The copies for serving are the newest three.
[ "$(echo serve/*)" = 'serve/10 serve/11 serve/5 serve/current' ] || { ls serve; exit 1; }

# What gc leaves of refused hours is enough not to train them again.
for hour in 5 6 7 8 9; do
	make_rows 300 $((100 + hour)) >log/click-20261129-0$hour.tsv
	touch -d "@$((day + 3600 * hour + 3600))" log/click-20261129-0$hour.tsv
	expect 1 hours $((hour + 1)) --require 'auc>=1'
done
expect 0 "$T" gc m --keep-last 1
[ -e m/v000012.rejected/ledger.txt ] && [ ! -e m/v000012.rejected/MANIFEST ] || { ls m/*; exit 1; }
[ -e m/v000016.rejected/MANIFEST ] && [ ! -e m/v000009.rejected ] || { ls m; exit 1; }
is 11 five
expect 0 hours 10
is 11 five
make_rows 300 110 >log/click-20261129-10.tsv
touch -d "@$((day + 3600 * 11))" log/click-20261129-10.tsv
expect 0 hours 11
uses trained trained trained trained trained \
	rejected rejected rejected rejected rejected trained
