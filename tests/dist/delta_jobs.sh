#!/bin/sh
# Versions that are what changed since the one before, of jobs of several processes: the files of
# one process, to the bit.  When a process has died the next one is whole, for what changed is
# not known of a shard that came back; a chain can be loaded on any number of shards.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
tenants
head -n 600 train.tsv >valid.tsv
head -n 3000 train.tsv >a.tsv
CHAIN="--valid valid.tsv --epochs 6 -o embedding.admit=count -o train.full_every=4"

# chain MODEL: how many of its versions are deltas.
chain() {
	cat "$1"/v*/MANIFEST | grep -c '^kind = delta$'
}

train_rules one -q $CHAIN
[ "$(chain one)" -gt 1 ] || { echo 'no deltas' >&2; exit 1; }
for place in '--workers 2 --ps 3' '--workers 2 -o placement.mode=allreduce'; do
	rm -rf m
	# shellcheck disable=SC2086
	train_rules m -q $CHAIN $place
	diff -r one m >&2 || { echo "$place: another chain" >&2; exit 1; }
done

# The rows of hashed tables, too; gone on from the chain of one process on shards.
for m in one m; do
	rm -rf $m
	for part in a valid a; do
		place='-j 1'
		[ $m$part = one$part ] || place='--workers 2 --ps 2'
		from=
		[ ! -d $m ] || from="-i $m"
		# shellcheck disable=SC2086
		expect 0 timeout -k 9 60 "$T" train s.ini $JOB -q -f $m $from -d $part.tsv \
			-o train.early_stop=0 -o train.full_every=4 $place
	done
done
[ "$(chain m)" = 2 ] || { echo 'no deltas of hashed tables' >&2; exit 1; }
for v in v000001 v000002 v000003; do
	same_tables one $v m $v "hashed tables, $v"
done

rm -rf one m
# shellcheck disable=SC2086
train_rules one -q $CHAIN
dump one >want
# shellcheck disable=SC2086
loses m 'ps --index 1' '[ -e m/v000002 ]' \
	timeout -s KILL 100 "$T" train s.ini $RULES $CHAIN -f m -v --workers 2 --ps 2
dump m | cmp - want || { echo 'another model after the death of a shard' >&2; exit 1; }
[ "$(chain m)" -gt 0 ] || { echo 'no deltas after the death of a shard' >&2; exit 1; }
exit 0
