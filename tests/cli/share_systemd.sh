#!/bin/sh
# The units of share/ as systemd reads them.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
command -v systemd-analyze >/dev/null || { echo 'systemd-analyze is missing'; exit 77; }
for unit in 'recsys-train@.service' 'recsys-train@ctr.service'; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$RECSYS_TRAIN|" \
		"$BUILDDIR/share/systemd/recsys-train@.service" >"$unit" || exit 1
done
for unit in 'recsys-train@.timer' 'recsys-train@ctr.timer'; do
	cp "$SRCDIR/share/systemd/recsys-train@.timer" "$unit" || exit 1
done
SYSTEMD_UNIT_PATH="$TMP:"
export SYSTEMD_UNIT_PATH
for unit in recsys-train@ctr.service recsys-train@ctr.timer; do
	expect 0 systemd-analyze verify --man=no "./$unit"
	# A word that it does not know is only a warning.
	grep 'recsys-train@' out err && exit 1
done
expect 0 systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' ./*@.timer)"
exit 0
