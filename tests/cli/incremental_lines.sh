#!/bin/sh
# Two lines, of which one serves: the commands of recsys-train-cron(7), A FRESH MODEL EVERY
# DAY, as they stand there.
set -u
. "$SRCDIR/tests/cli/incremental_data.sh"

# The literal blocks of the section: the tree, the hourly commands, those of the night.
awk -v to="$TMP/block" '
	/^\.Sh/ { inside = /A FRESH MODEL EVERY DAY/ }
	inside && /^\.Bd/ { block = 1; n++; next }
	/^\.Ed/ { block = 0 }
	block { gsub(/\\e/, "\\"); print >(to n) }' "$SRCDIR/man/recsys-train-cron.7"
for n in 2 3; do
	[ -s block$n ] || { echo 'the page has no such commands' >&2; exit 1; }
	sed "s|/srv/ctr|$TMP/srv|g; s|/var/lib/recsys-train|$TMP/lib|g; s|/data/log|$TMP/log|g
		s|/etc/recsys-train/ctr.ini|$TMP/ctr.ini|; s|/data/valid.tsv|$TMP/valid.tsv|
		s|seq 14|seq 2|; s|-14 days|-2 days|" block$n >commands$n
done
mkdir bin srv lib
ln -s "$T" bin/recsys-train
printf '#!/bin/sh\nexec /bin/date "$1" "$2" "$3 2026-11-29 01:00" "$4"\n' >bin/date
chmod +x bin/date
follow() { expect "$1" env PATH="$TMP/bin:$PATH" sh -e "$2"; }
make_hours -72 -41 100
make_rows 300 1 >valid.tsv
make_hour_spec ctr.ini

# Line a is there, and serves.
clock -40
expect 0 "$T" train ctr.ini --incremental --cron --since 2026-11-27 -f lib/a -o incremental.publish="$TMP/srv/a"
ln -s a srv/live
make_hours -40 -39 100
clock -38
follow 0 commands2
silent 'the hourly commands'
current lib/a v000010 'line a'
[ "$(readlink srv/live/current)" = 10 ] || { ls -l srv srv/a >&2; exit 1; }
dump srv/live/current >before

# The night: b serves, of two days in two passes and the hours since; a is as it was.
make_hours -38 1 100
clock 2
follow 0 commands3
[ "$(readlink srv/live)" = b ] || { ls -l srv >&2; cat err >&2; exit 1; }
[ "$(readlink srv/live/current)" = 3 ] || { ls -l srv/b >&2; exit 1; }
current lib/b v000003 'line b'
dump srv/a/current >have
same before have 'the night changed line a'
[ "$(grep -c '^path=.*rows=100' lib/b/v000003/ledger.txt)" = 50 ] ||
	{ cat lib/b/v000003/ledger.txt >&2; exit 1; }
expect 0 "$T" predict srv/live/current log/click-20261129-00.tsv

# The hour after goes to b; the next night is that of a.
make_hour 2 100
clock 3
follow 0 commands2
grep 20261126 lib/?/v*/ledger.txt && { echo 'old hours were trained' >&2; exit 1; }
current lib/b v000004 'the hour after'
current lib/a v000010 'the other line'
follow 0 commands3
[ "$(readlink srv/live)" = a ] || { ls -l srv >&2; cat err >&2; exit 1; }
dump lib/a >have
dump lib/b >want
same want have 'two nights of the same log made different models'

# A night that fails changes nothing that serves.
sed -i 's/auc>=0.6/auc>=0.999/' commands3
follow 1 commands3
[ "$(readlink srv/live)" = a ] || { ls -l srv >&2; exit 1; }
