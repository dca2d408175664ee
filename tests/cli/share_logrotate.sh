#!/bin/sh
# The logs of --cron as logrotate turns them.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
rotate=$(command -v logrotate || command -v /usr/sbin/logrotate) ||
	{ echo 'logrotate is missing'; exit 77; }
[ "$(id -u)" = 0 ] || { echo 'logrotate wants to be root here'; exit 77; }
make_rows 200 1 >train.tsv
make_spec s.ini
mkdir -m 755 logs
sed "s|/var/log/recsys-train|$TMP/logs|; s/su .*/su root root/" \
	"$SRCDIR/share/logrotate/recsys-train" >rotate
chmod 644 rotate
for turn in 1 2; do
	expect 0 "$T" train s.ini -f m$turn --cron --log-file logs/ctr.log
	"$rotate" -f -s state rotate >out 2>&1 || { cat out >&2; exit 1; }
done
[ ! -s logs/ctr.log ] && grep -q 'exit 0' logs/ctr.log.1 &&
	gzip -dc logs/ctr.log.2.gz | grep -q 'exit 0' || { ls logs >&2; cat logs/* >&2; exit 1; }
