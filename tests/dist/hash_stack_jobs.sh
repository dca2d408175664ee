#!/bin/sh
# Tables of several rounds: a job of many processes ends with the model of one, with a shard
# killed, too; deltas of it lead to the same.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 | awk -F'\t' -v OFS='\t' '{ if (NR % 17 == 0) $2 = ""; print }' >train.tsv
make_spec s.ini

keep="$JOB --epochs 3 -P none -o embedding.rounds=3 -o embedding.round_scale=sqrt
	-o train.full_every=3"
# shellcheck disable=SC2086
{
	expect 0 "$T" train s.ini -f alone $keep
	dump alone >want
	expect 0 "$T" train s.ini -f many $keep --workers 2 --ps 2
	dump many >have
	same want have 'two shards: another model'
	expect 0 "$T" train s.ini -f back $keep --workers 3 --ps 0 -o placement.mode=allreduce
	dump back >have
	same want have 'allreduce: another model'
	timeout -k 9 60 "$T" train s.ini -f killed $keep --workers 2 --ps 2 \
		-o train.checkpoint_every=0.2 >out 2>err & pid=$!
}
begun killed
sleep "$(between 0.1 0.4)"
nodes 'ps --index 0' | xargs -r kill -KILL
ends $pid
[ $code = 0 ] || { echo "a killed shard: exit $code" >&2; cat err >&2; exit 1; }
dump killed >have
same want have 'a killed shard: another model'
nothing_left 'at the end'
