#!/bin/sh
# rollback: an older version becomes current, and what is published with it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_spec s.ini
cat >>s.ini <<-END
	[incremental]
	publish = serve
	command = echo \$RECSYS_VERSION >>$TMP/told
END
for seed in 1 2 3 4; do
	expect 0 "$T" train s.ini -f m --fresh --seed $seed -o train.keep=9
	dump m >"dump$seed"
done

# is VERSION: that is current and served, to the bit.
is() {
	[ "$(cat m/CURRENT)" = "v00000$1" ] || { echo "not $1: $(cat m/CURRENT)"; exit 1; }
	[ "$(readlink serve/current)" = "$1" ] || { ls -l serve; exit 1; }
	for model in m serve/current "serve/$1" "m/v00000$1"; do
		dump "$model" >got
		same "dump$1" got "$model is not version $1"
	done
	[ -z "$(ls -A m serve | grep -e '^\.tmp' -e PENDING)" ] || { ls -A m serve; exit 1; }
}

# A dry run changes nothing.
expect 0 "$T" rollback m -n
prints 'v000003 would be current instead of v000004'
prints 'v000004 would be put aside as v000004.rejected'
[ "$(cat m/CURRENT)" = v000004 ] && [ ! -e serve ] || exit 1

expect 0 "$T" rollback m
prints 'v000003 is current instead of v000004'
prints "published '$TMP/serve/3'"
is 3
grep -qx 'rollback: back to v000003' m/v000004.rejected/REJECTED || exit 1
[ "$(cat told)" = 3 ] || exit 1

# Models are read from a published directory.
expect 0 "$T" predict serve/current train.tsv
[ "$(wc -l <out)" -eq 300 ] || exit 1
expect 0 "$T" eval serve/3 train.tsv
expect 0 "$T" eval m/v000004.rejected train.tsv
(cd serve/3 && "$T" inspect . >../../out) || exit 1
prints 'version v000003'

# Once more to the same is no harm; further back; what is damaged or not there.
expect 0 "$T" rollback m 3
prints 'v000003 is current already'
is 3
expect 66 "$T" rollback m 4
says 'there is no version v000004'
says 'v000004.rejected'
expect 66 "$T" rollback m v000009
expect 66 "$T" rollback none
expect 66 "$T" rollback serve
expect 64 "$T" rollback m three
says "'three' is no version"
expect 64 "$T" rollback m 0
expect 64 "$T" rollback
expect 64 "$T" rollback m 2 1
expect 64 "$T" rollback m -o publish=x
[ ! -e none ] || exit 1
expect 0 "$T" rollback m 1 --json -n
prints '{"version":1,"was":3,"put_aside":[2,3],"mark":null,"dry_run":true}'
cp -r m/v000001 saved
printf x | dd of=m/v000001/dense.bin bs=1 seek=200 conv=notrunc 2>/dev/null
expect 65 "$T" rollback m 1
says 'damaged'
is 3
rm -r m/v000001
mv saved m/v000001

# A rejected version is made current by hand.
mv m/v000004.rejected m/v000004
expect 0 "$T" rollback m 4
is 4

# A directory for serving that cannot be written: the model goes back, and says so.
mv serve aside
touch serve
expect 74 "$T" rollback m 2
says 'cannot publish v000002'
says 'v000002 is current, but it is not published'
prints 'v000002 is current instead of v000004'
rm serve
mv aside serve
expect 0 "$T" rollback m 2
is 2
[ "$(cat told)" = "$(printf '3\n4\n2')" ] || { cat told; exit 1; }
expect 0 "$T" rollback m -o incremental.publish=other -o incremental.command=
is_now=$(cat m/CURRENT)
[ "$is_now" = v000001 ] && [ "$(readlink other/current)" = 1 ] || exit 1
expect 66 "$T" rollback m
says 'no version in'

# Somebody else holds the model.
flock m/LOCK sleep 600 &
holder=$!
tries=0
while flock -n m/LOCK true && [ $((tries += 1)) -lt 600 ]; do sleep .1; done
expect 75 "$T" rollback m 1
expect 0 "$T" rollback m 1 -n
kill $holder $(ps -o pid= --ppid $holder)
ends $holder 20
expect 0 "$T" rollback m 1 --lock-wait 60

# The next run has a number that no version had.
expect 0 "$T" train s.ini -f m --fresh --seed 2
[ "$(cat m/CURRENT)" = v000005 ] || { cat m/CURRENT; exit 1; }
