#!/bin/sh
# keygen: a secret that only the owner reads, never overwritten, never printed.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

if ! "$T" --version | grep -q ' zmq\>'; then
	expect 64 "$T" keygen a.key
	says 'without ZeroMQ'
	[ ! -e a.key ] && [ ! -e a.key.pub ] || exit 1
	echo "no keys: this program is built without ZeroMQ"
	exit 77
fi

umask 0
expect 0 "$T" keygen a.key
grep -qx 'key id [0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]' out || { cat out; exit 1; }
[ "$(wc -l <out)" -eq 1 ] && [ ! -s err ] || exit 1
[ "$(stat -c %a a.key)" = 600 ] || { stat a.key; exit 1; }
[ "$(grep -c '^\(public\|secret\) = .\{40\}$' a.key)" -eq 2 ] || exit 1
[ "$(wc -l <a.key)" -eq 2 ] || exit 1
grep '^public' a.key >public
same public a.key.pub 'the public key is not alone in its file'

# Another one every time.
expect 0 "$T" keygen b.key --json
grep -q '^{"key_id":"[0-9a-f:]\{8\}","file":"b.key","public_file":"b.key.pub"}$' out || { cat out; exit 1; }
! cmp -s a.key b.key || exit 1
for key in $(sed 's/.* = //' a.key b.key); do
	! grep -qF "$key" out || { echo "a key is printed"; exit 1; }
done

cp a.key kept
expect 73 "$T" keygen a.key
says "'a.key' exists"
says 'hint: a key is never overwritten'
same a.key kept 'keygen changed a file it refused to replace'
touch c.key.pub
expect 73 "$T" keygen c.key
[ ! -e c.key ] || { echo "half a pair is left"; exit 1; }
expect 73 "$T" keygen none/d.key

expect 0 "$T" keygen d.key -n
[ ! -e d.key ] && [ ! -e d.key.pub ] || { echo "a dry run wrote"; exit 1; }
expect 73 "$T" keygen a.key -n
expect 64 "$T" keygen
expect 64 "$T" keygen e.key f.key
[ ! -e e.key ] || exit 1
