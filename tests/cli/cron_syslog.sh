#!/bin/sh
# The summary line of --cron in the system log, in a /dev of our own.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
command -v python3 >/dev/null || { echo 'python3 is missing'; exit 77; }
unshare -rm true 2>/dev/null || { echo 'namespaces are not allowed here'; exit 77; }
make_rows 400 1 >train.tsv
make_spec s.ini
cat >listen.py <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("log")
s.settimeout(60)
open("listening", "w").close()
sys.stdout.write(s.recv(8192).decode() + "\n")
END
mkdir dev
(cd dev && exec python3 ../listen.py >../system 2>../listen.err) & listener=$!
tries=0
until [ -e dev/listening ]; do
	tries=$((tries + 1))
	[ $tries -lt 500 ] || { echo 'nobody listens' >&2; cat listen.err >&2; exit 1; }
	sleep 0.02
done
# shellcheck disable=SC2016
unshare -rm sh -c 'mount --bind dev /dev && exec "$@"' sh \
	"$T" train s.ini -f m --cron >out 2>err || { cat err >&2; exit 1; }
ends $listener; [ $code = 0 ] || { cat listen.err >&2; exit 1; }
grep -q '^<14>.*recsys-train\[[0-9]*\]: train s.ini: exit 0 in .* ok, 400 rows' system ||
	{ cat system >&2; exit 1; }
