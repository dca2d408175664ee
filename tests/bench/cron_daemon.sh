#!/bin/sh
# The crontab line of share/ run by a real cron daemon, with directories of its own in a
# mount namespace: needs root and the Debian package cron.
#
#   sh tests/bench/cron_daemon.sh [PERIODS]
#
# Periods of one minute, three by default: a writer ends a file every minute, and the line
# runs every minute.  Prints when each period was trained.  REBOOT=1 has the line run once,
# when the daemon starts, over two hours that are there: some seconds, for run-tests.
set -u
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'mounting is not allowed here'; exit 77; }
CRON=$(command -v cron || command -v /usr/sbin/cron) || { echo 'cron is missing'; exit 77; }
if [ "${IN_NAMESPACE-}" != 1 ]; then
	IN_NAMESPACE=1 exec unshare -m --propagation private sh "$0" "$@"
fi
SRCDIR=${SRCDIR-$PWD} BUILDDIR=${BUILDDIR-$SRCDIR/build}
RECSYS_TRAIN=${RECSYS_TRAIN-$BUILDDIR/recsys-train}
export SRCDIR BUILDDIR RECSYS_TRAIN
. "$SRCDIR/tests/cli/incremental_data.sh"
PERIODS=${1-3}

# A world of its own: no other table, no mail but into files, no pid file of others.
mkdir cron.d spool run etc mail sbin work etc/recsys-train log
for place in /etc/cron.d:cron.d /var/spool/cron/crontabs:spool /run:run; do
	mount --bind "${place#*:}" "${place%%:*}" || { echo "no bind mount"; exit 77; }
done
: >crontab
[ ! -e /etc/crontab ] || mount --bind crontab /etc/crontab || exit 77
cat >sendmail <<END
#!/bin/sh
cat >"\$(mktemp $TMP/mail/XXXXXX)"
END
chmod +x sendmail
mount -t overlay -o "lowerdir=/usr/sbin,upperdir=$TMP/sbin,workdir=$TMP/work" overlay /usr/sbin &&
	cp sendmail /usr/sbin/sendmail || { echo 'mail of cron cannot be caught here'; exit 77; }

# line TIMES: the line of share/, for this user, program, spec and log.
line() {
	sed "s|^7 .*recsys-train  */[^ ]*|$1 root $RECSYS_TRAIN|
		s|/etc/recsys-train/|$TMP/etc/recsys-train/|; s|/var/log/recsys-train/|$TMP/|" \
		"$BUILDDIR/share/cron/recsys-train.crontab" >cron.d/recsys-train
	chmod 644 cron.d/recsys-train
	grep '^[@*]' cron.d/recsys-train
}

start_cron() {
	"$CRON" -f & daemon=$!
	trap 'kill $daemon 2>/dev/null; rm -rf "$TMP"' EXIT
}

no_mail() {
	[ -z "$(ls -A mail)" ] || { echo 'cron had mail to send:' >&2; cat mail/* >&2; exit 1; }
}

# until_line N SECONDS: the log has so many lines.
until_line() {
	tries=0
	until [ "$(wc -l 2>/dev/null <ctr.log || echo 0)" -ge "$1" ]; do
		tries=$((tries + 1))
		[ $tries -le $(($2 * 10)) ] || {
			echo "$1 runs did not end within $2 s" >&2
			cat ctr.log mail/* >&2
			exit 1
		}
		sleep 0.1
	done
}

make_hour_spec ctr.ini
printf '[model]\npath = %s/m\n' "$TMP" >>ctr.ini

if [ "${REBOOT-}" = 1 ]; then
	make_hours 0 1
	cp ctr.ini etc/recsys-train
	line @reboot
	start_cron
	until_line 1 60
	current m v000002 'two hours by cron'
	once m 600
	no_mail
	grep ': exit 0 in ' ctr.log || { cat ctr.log >&2; exit 1; }
	# What is wrong comes by mail.
	kill $daemon
	ends $daemon 20
	rm -rf run/*
	echo nonsense >>etc/recsys-train/ctr.ini
	start_cron
	tries=0
	until grep -qs 'error: ' mail/*; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { echo 'an error is not mailed' >&2; exit 1; }
		sleep 0.1
	done
	exit 0
fi

sed -i 's|^file_time = .*|file_time = click-%Y%m%d-%H%M.tsv\nperiod = 1m\nwait = 0|' ctr.ini
cp ctr.ini etc/recsys-train
line '* * * * *'
start_cron
n=0
while [ $n -le "$PERIODS" ]; do
	# The log of this minute, written at once, long before the minute is over.
	file=log/click-$(date -u +%Y%m%d-%H%M).tsv
	make_rows 300 $((100 + n)) >"$file.new"
	mv "$file.new" "$file"
	n=$((n + 1))
	until [ ! "log/click-$(date -u +%Y%m%d-%H%M).tsv" = "$file" ]; do sleep 0.2; done
done
rm "$file"			# the last is not over for the runs that are counted
until [ "$(sed 's/^v0*//' m/CURRENT 2>/dev/null)" = "$PERIODS" ]; do
	sleep 0.5
	[ $(($(date +%s) % 3600)) -ge 0 ] || exit 1
	[ "$(now_ms)" -lt $((${late:=$(($(now_ms) + 150000))})) ] || {
		echo 'not trained in time:' >&2; ls log m >&2; cat ctr.log mail/* >&2; exit 1; }
done
once m $((PERIODS * 300))
no_mail
cat ctr.log
"$T" runs list --db runs.db
echo "cron trained $PERIODS periods of a minute, a version each, every row once, no mail"
