#!/bin/sh
# What share/ has for cron, systemd and Prometheus, and what the manual says of it.
# share_*.sh ask the programs that read it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
cp "$BUILDDIR/share/cron/recsys-train.crontab" crontab || exit 1
cp "$BUILDDIR/share/systemd/recsys-train@.service" "$SRCDIR/share/systemd/recsys-train@.timer" \
	. || exit 1
cp "$SRCDIR"/share/prometheus/*.yml . || exit 1
chmod u+w ./*

# Both run the same command, of the place where it was installed.
line=$(grep -v '^#' crontab | grep -v '^[A-Z]*=')
[ "$(echo "$line" | wc -l)" = 1 ] || { cat crontab >&2; exit 1; }
exec=$(sed -n 's/^ExecStart=//p' ./*.service)
for text in "$line" "$exec"; do
	case $text in
	*"/bin/recsys-train train /etc/recsys-train/"*".ini --incremental --cron"*) ;;
	*) echo "what is run: $text" >&2; exit 1 ;;
	esac
done
grep -q '@' crontab && { echo 'a place was not filled in' >&2; exit 1; }
# Five fields of time, a user, the command.
echo "$line" | awk '{ exit !($1 ~ /^[0-9]+$/ && $2 $3 $4 $5 == "****" && $6 == "recsys-train" && $7 ~ /^\//) }' ||
	{ echo "not a line of /etc/cron.d: $line" >&2; exit 1; }
# Every figure in the rules is one that the page names, and so is every alert.
page=$SRCDIR/man/recsys-train-cron.7
for name in $(grep -o 'recsys_train_[a-z_]*' recsys-train.rules.yml | sort -u) \
	$(sed -n 's/.*alert: //p' recsys-train.rules.yml); do
	grep -q "$name" "$page" || { echo "$name is not in recsys-train-cron(7)" >&2; exit 1; }
done
for alert in $(grep -o 'RecsysTrain[A-Za-z]*' "$page" | sort -u); do
	grep -q "alert: $alert\$" recsys-train.rules.yml || { echo "no alert $alert" >&2; exit 1; }
done
