#!/bin/sh
# An hourly run on a disk of 1 MB that is full, or that cannot be written: exit 73 or 74, the
# former model serves on, and the next run makes up for it.
set -u
unshare -rm true 2>/dev/null || { echo 'namespaces are not allowed here'; exit 77; }
if [ "${IN_NAMESPACE-}" != 1 ]; then
	IN_NAMESPACE=1 exec unshare -rm sh "$0"
fi
. "$SRCDIR/tests/cli/incremental_data.sh"
make_hours 0 2
make_hour_spec s.ini
clock 3
expect 0 "$T" train s.ini --incremental --cron -f whole
dump whole >want

mkdir disk
mount -t tmpfs -o size=1m tmpfs disk || { echo 'no tmpfs here'; exit 77; }
trap 'cd /; umount "$TMP/disk"; rm -rf "$TMP"' EXIT
clock 1
expect 0 "$T" train s.ini --incremental --cron -f disk/m --db runs.db

# full KB ...: fills the disk up to so many KB.
full() {
	free=$(df -k --output=avail disk | tail -1)
	[ "$1" -ge "$free" ] || dd if=/dev/zero of=disk/filler bs=1k count=$((free - $1)) 2>/dev/null
}

# The version of the second hour, with all that it needs, fits in less than 400 KB.
clock 2
said=0
for room in 0 4 8 16 24 40; do
	full $room
	code=0
	"$T" train s.ini --incremental --cron -f disk/m --db runs.db >out 2>err || code=$?
	rm -f disk/filler
	[ $code = 0 ] && break
	case $code in 73 | 74) ;; *) echo "$room KB: exit $code" >&2; cat err >&2; exit 1 ;; esac
	says 'No space left'
	said=$((said + 1))
	current disk/m v000001 "$room KB"
	serves disk/m
done
[ $said -ge 2 ] || { echo "the disk was full $said times" >&2; exit 1; }
clock 3
expect 0 "$T" train s.ini --incremental --cron -f disk/m --db runs.db
once disk/m 900
dump disk/m >have
same want have 'a full disk changed the model'
ls -A disk/m | grep '^\.tmp-' && { echo 'temporary files stay' >&2; exit 1; }

# The database is on the full disk as well.
make_hour 3
clock 4
full 0
code=0
"$T" train s.ini --incremental --cron -f disk/m >out 2>err || code=$?
case $code in 73 | 74) ;; *) echo "the database on a full disk: exit $code" >&2; cat err >&2; exit 1 ;; esac
current disk/m v000003 'the database on a full disk'
serves disk/m
rm -f disk/filler
expect 0 "$T" train s.ini --incremental --cron -f disk/m
current disk/m v000004 'room again'

# A file system that may only be read.
make_hour 4
clock 5
mount -o remount,ro disk || { echo 'cannot be made read-only here'; exit 0; }
code=0
"$T" train s.ini --incremental --cron -f disk/m >out 2>err || code=$?
case $code in 73 | 74) ;; *) echo "read-only: exit $code" >&2; cat err >&2; exit 1 ;; esac
says 'Read-only file system'
current disk/m v000004 'read-only'
serves disk/m
mount -o remount,rw disk
expect 0 "$T" train s.ini --incremental --cron -f disk/m
silent 'writable again'
once disk/m 1500
