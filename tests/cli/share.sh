#!/bin/sh
# What share/ has for cron, systemd and Prometheus, and what the manual says of it.
# share_*.sh ask the programs that read it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
cp "$BUILDDIR/share/cron/recsys-train.crontab" crontab || exit 1
cp "$BUILDDIR/share/systemd/recsys-train@.service" "$SRCDIR/share/systemd/recsys-train@.timer" \
	. || exit 1
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
# Options that there are.
make_rows 200 1 >train.tsv
make_spec ctr.ini
for text in "${line#* train }" "${exec#* train }"; do
	# shellcheck disable=SC2046
	set -- $(echo "$text" | sed "s|/etc/recsys-train/[^ ]*|ctr.ini|; s|/var/log/recsys-train/|./|")
	expect 0 "$T" train "$@" --help
done

# The figures of the program are those of the page, and the rules have no others.
page=$SRCDIR/man/recsys-train-cron.7
sed -n 's/^\tROW("\([a-z_]*\)".*/recsys_train_\1/p' "$SRCDIR/src/cmd/textfile.c" | sort >figures
[ -s figures ] || { echo 'the program has no figures' >&2; exit 1; }
grep -o 'recsys_train_[a-z_]*[a-z]' "$page" | sort -u >named
same figures named 'the figures of the program and of recsys-train-cron(7)'
grep -o 'recsys_train_[a-z_]*' "$SRCDIR/share/prometheus/recsys-train.rules.yml" | sort -u |
	comm -23 - figures >unknown
[ ! -s unknown ] || { echo 'rules with figures that there are not:' >&2; cat unknown >&2; exit 1; }

# So are the alerts.
sed -n 's/.*alert: //p' "$SRCDIR/share/prometheus/recsys-train.rules.yml" | sort >alerts
grep -o 'RecsysTrain[A-Za-z]*' "$page" | sort -u >named
same alerts named 'the alerts of the rules and of recsys-train-cron(7)'
