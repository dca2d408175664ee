#!/bin/sh
# Weights of two bytes: rows travel as fp32 and are rounded where they are, so that a run of
# many processes ends with the model of one, also when a shard dies.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_spec s.ini

for storage in 'bf16 hashed' 'fp16 hashed' 'bf16 exact'; do
	keep="$JOB --epochs 4 -P none -o embedding.storage=${storage% *} -o embedding.dim=5
		-o embedding.table=${storage#* }"
	rm -rf alone many back killed
	# shellcheck disable=SC2086
	{
		expect 0 "$T" train s.ini -f alone $keep
		dump alone >want
		grep -q "^table user .* storage ${storage% *}" want || exit 1
		expect 0 "$T" train s.ini -f many $keep --workers 2 --ps 2
		dump many >have
		same want have "$storage, two shards: another model"
		expect 0 "$T" train s.ini -f back $keep --workers 3 --ps 0 \
			-o placement.mode=allreduce
		dump back >have
		same want have "$storage, allreduce: another model"

		timeout -k 9 60 "$T" train s.ini -f killed $keep --workers 2 --ps 2 \
			-o train.checkpoint_every=0.2 >out 2>err & pid=$!
	}
	begun killed
	sleep "$(between 0.1 0.4)"
	nodes 'ps --index 0' | xargs -r kill -KILL
	ends $pid
	[ $code = 0 ] || { echo "$storage: a killed shard: exit $code" >&2; cat err >&2; exit 1; }
	dump killed >have
	same want have "$storage, a killed shard: another model"
done
nothing_left 'at the end'
