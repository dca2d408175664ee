#!/bin/sh
# gc: what rules keep stays, what somebody needs stays whatever they are.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_spec s.ini
cat >>s.ini <<-END
	[incremental]
	publish = serve
	publish_keep = 2
END
for seed in 1 2 3 4 5 6 7; do
	expect 0 "$T" train s.ini -f m --fresh --seed $seed -o train.keep=$((seed < 7 ? 9 : 4)) \
		-o dnn.hidden=4
	[ $seed != 6 ] || cp -a m six
	[ $seed != 1 ] || cp runs.db runs.saved
done
cp -a six/v* m
mv m all

# made VERSION TIME: when it was made.
made() {
	touch -d "$2" "all/v00000$1/MANIFEST"
}
made 1 '2026-01-01T10:10Z'             # Thursday
made 2 '2026-01-01T10:50Z'
made 3 '2026-01-01T11:00Z'
made 4 '2026-01-04T23:59Z'             # Sunday
made 5 '2026-01-05T00:00Z'             # Monday
made 6 '2026-01-05T08:00Z'
made 7 '2026-01-05T08:30Z'
# fresh: seven versions, the last of which is current, and no run database.
fresh() {
	rm -rf m serve runs.db*
	cp -a all m
}
# kept VERSION...: these and no others are there.
kept() {
	have=$(cd m && echo v0*)
	want=$(printf 'v00000%s ' "$@")
	[ "$have " = "$want" ] || { echo "kept '$have', wanted '$want'"; cat out; exit 1; }
}

# Nothing happens in a dry run.
fresh
expect 0 "$T" gc m --keep-last 2 -n
grep -q '^keep  *v000007 .* 2026-01-05 08:30  *current, last$' out || { cat out; exit 1; }
grep -q '^remove  *v000001 .* 2026-01-01 10:10$' out || { cat out; exit 1; }
grep -q '^would free .* in [0-9]* files (dry run)$' out || { cat out; exit 1; }
kept 1 2 3 4 5 6 7
bytes=$(sed -n 's/^would free \(.*\) in.*/\1/p' out)
expect 0 "$T" gc m --keep-last 2
prints "freed $bytes in"
kept 6 7
expect 0 "$T" gc m --keep-last 2
prints 'nothing to remove'

# Each rule; several keep what any of them keeps; no rule is train.keep.
fresh
expect 0 "$T" gc m --keep-hourly 3
kept 4 5 7
fresh
expect 0 "$T" gc m --keep-daily 2
kept 4 7
fresh
expect 0 "$T" gc m --keep-weekly 9
kept 4 7
grep -q 'v000004 .*weekly$' out || { cat out; exit 1; }
fresh
expect 0 "$T" gc m --keep-last 1 --keep-daily 3 --keep-hourly 1
kept 3 4 7
grep -q 'v000007 .*current, last, hourly, daily$' out || { cat out; exit 1; }
fresh
expect 0 "$T" gc m
kept 4 5 6 7
fresh
echo v000002 >m/CURRENT
expect 0 "$T" gc m --keep-last 0
kept 2

# A size: the oldest go, what must stay does.
fresh
size=$(cat m/v000007/* | wc -c)
expect 0 "$T" gc m --max-size $((size * 7 / 2))
kept 5 6 7
grep -q '^remove .*v000004 .*--max-size$' out || { cat out; exit 1; }
fresh
expect 0 "$T" gc m --keep-daily 9 --max-size 1K
kept 7
says 'what must stay has'
expect 64 "$T" gc m --max-size 5X
expect 64 "$T" gc m --max-size -1
expect 0 "$T" gc m --max-size 20GiB

# Times and tags are those of the runs; an older run of the same name has none.
fresh
cp runs.saved runs.db
expect 0 "$T" runs tag last prod
expect 0 "$T" gc m --keep-last 1
kept 1 7
prints 'tag prod'
expect 0 "$T" gc m --keep-last 1 --keep-tag other -n
grep -q '^remove .*v000001' out || { cat out; exit 1; }
expect 0 "$T" gc m --keep-last 1 --keep-tag other --keep-tag prod
kept 1 7
expect 0 "$T" gc m --keep-hourly 2
kept 1 7
year=$(date -u +%Y-%m-%d)
grep -q "^keep .*v000001 .* $year .*tag prod, hourly$" out || {
	[ "$year" != "$(date -u +%Y-%m-%d)" ] || { cat out; exit 1; }
}
echo nonsense >runs.db
expect 65 "$T" gc m --keep-last 1
says 'nothing is removed without the database'
kept 1 7

# The interrupted run goes on from the newest version and may want its best.
fresh
for v in 6 7; do
	sed -e 's/^state = final/state = training/' -e 's/^best_version = .*/best_version = 5/' \
		-e '/^crc = /d' "m/v00000$v/MANIFEST" >text
	python3 - text "m/v00000$v/MANIFEST" <<-'END' || exit 77
	import sys
	table = []
	for i in range(256):
	    c = i
	    for _ in range(8):
	        c = c >> 1 ^ 0x82F63B78 if c & 1 else c >> 1
	    table.append(c)
	data = open(sys.argv[1], 'rb').read()
	crc = 0xFFFFFFFF
	for b in data:
	    crc = table[(crc ^ b) & 255] ^ crc >> 8
	open(sys.argv[2], 'wb').write(data + b'crc = %08x\n' % (crc ^ 0xFFFFFFFF))
	END
done
echo v000003 >m/CURRENT
expect 0 "$T" gc m --keep-last 0
kept 3 5 7
grep -q 'v000005 .*best of the unfinished run$' out || { cat out; exit 1; }

# A damaged current version: the one that readers take instead stays.
fresh
truncate -s 10 m/v000007/dense.bin
expect 0 "$T" gc m --keep-last 0
says 'v000006 stays in its place'
kept 6

# Rejected ones, what dead processes left, copies for serving.
fresh
expect 0 "$T" rollback m 6
expect 0 "$T" rollback m 5
expect 0 "$T" rollback m 4
expect 0 "$T" rollback m 3
mkdir m/.tmp-v000009-1 serve/.tmp-publish-8
echo x >m/.tmp-v000009-1/dense.bin
mkdir serve/2 && cp m/v000002/* serve/2
mkdir serve/1 && cp m/v000001/* serve/1
expect 0 "$T" gc m --keep-last 2
kept 2 3 4.rejected 5.rejected 6.rejected 7.rejected
grep -q '^strip .*v000004.rejected' out || { cat out; exit 1; }
grep -q "^remove .*$TMP/serve/1 .*published before$" out || { cat out; exit 1; }
grep -q '^remove .*.tmp-v000009-1 .*a process that is gone$' out || { cat out; exit 1; }
[ "$(ls -A serve | tr '\n' ' ')" = '2 3 current ' ] || { ls -A serve; exit 1; }
[ ! -e m/.tmp-v000009-1 ] && [ ! -e m/v000004.rejected/MANIFEST ] || exit 1
[ -e m/v000004.rejected/REJECTED ] && [ -e m/v000005.rejected/MANIFEST ] || exit 1
dump serve/current >got
dump m >want
same want got 'what is served is not current'
expect 0 "$T" gc m --keep-last 2
prints 'nothing to remove'
grep -q '^keep .*v000004.rejected .*put aside, ledger only$' out || { cat out; exit 1; }
# Linked from the model directory, so nothing is freed.
cp -l -r m/v000002 elsewhere
expect 0 "$T" gc m --keep-last 1
grep -q '^freed 0 B in [0-9]* files$' out || { cat out; exit 1; }
kept 3 4.rejected 5.rejected 6.rejected 7.rejected
expect 0 "$T" gc m --json -n
grep -q '"freed_bytes":0,"files":0,"dry_run":true}$' out || { cat out; exit 1; }
expect 0 "$T" gc m -q
[ ! -s out ] || exit 1

expect 66 "$T" gc none
expect 64 "$T" gc
expect 64 "$T" gc m m
expect 64 "$T" gc m --keep-last -1
[ ! -e none ] || exit 1
flock m/LOCK sleep 600 &
holder=$!
tries=0
while flock -n m/LOCK true && [ $((tries += 1)) -lt 600 ]; do sleep .1; done
expect 75 "$T" gc m
expect 0 "$T" gc m -n
kill $holder $(ps -o pid= --ppid $holder)
ends $holder 20
expect 0 "$T" gc m --lock-wait 60

# Tables of a field that was removed; what is served is made anew.
rm -rf serve
sed '/^\[field item\]/,/^buckets/d' s.ini >less.ini
expect 0 "$T" train s.ini -f f
expect 0 "$T" train less.ini -i f -f f
expect 0 "$T" rollback f 2
[ -e serve/2/table-item.0-of-1.bin ] || exit 1
dump f >want
expect 0 "$T" gc f -n
grep -q '^remove .*f/v000002/table-item.linear.0-of-1.bin .*field that was removed' out || {
	cat out
	exit 1
}
expect 0 "$T" gc f
for model in f f/v000002 serve/2; do
	dump $model >got
	grep -v '^table item\|^item\|^untouched item' want >less
	grep -v '^table item\|^item\|^untouched item' got >more
	same less more "gc changed $model"
done
for directory in f/v000002 serve/2; do
	[ -z "$(ls $directory | grep item)" ] || { ls $directory; exit 1; }
done
[ -e f/v000001/table-item.0-of-1.bin ] || exit 1
expect 0 "$T" gc f
prints 'nothing to remove'
