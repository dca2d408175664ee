#!/bin/sh
# Exact tables with all rules, saved on 3 shards: loaded on other numbers of them they go on as
# one process does.  A shard and a worker that die in the middle change nothing, but where there
# is no journal: then the run begins at its last version.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
tenants
head -n 4800 train.tsv >a.tsv
tail -n +4801 train.tsv | head -n 120 >step.tsv

for admit in count sketch; do
	rm -rf three next
	train_rules three -q -o embedding.admit=$admit -d a.tsv --workers 2 --ps 3
	for place in '-j 1' '--workers 1 --ps 1' '--workers 2 --ps 2' '--workers 2 --ps 5' \
		'--workers 2 -o placement.mode=allreduce'; do
		rm -rf m
		cp -r three m
		# shellcheck disable=SC2086
		train_rules m -q -o embedding.admit=$admit -i m -d step.tsv $place
		[ "$place" != '-j 1' ] || { mv m next; continue; }
		same_tables next v000002 m v000002 "$admit, saved on 3 shards, then $place"
	done
	cmp -s next/v000001/tenancy-user.0-of-1.bin next/v000002/tenancy-user.0-of-1.bin &&
		{ echo 'the step changed nothing' >&2; exit 1; }
done

# without WHO OPTION...: WHO is killed when some steps are done.
without() {
	lost=$1
	shift
	# shellcheck disable=SC2086
	loses m "$lost" 'grep -q "\"step\":[1-9]" out' \
		timeout -s KILL 100 "$T" train s.ini $RULES -f m -v --json --epochs 25 \
		-o train.checkpoint_every=0 -o embedding.admit=count "$@"
	same_tables one v000001 m v000001 "after the death of $lost"
	nothing_left "$lost"
}

rm -rf one
train_rules one --json -j 1 --epochs 25 -o embedding.admit=count
came_and_went >figures
for who in 'ps --index 1' 'worker --index 0'; do
	without "$who" --workers 2 --ps 2 -o cluster.journal=yes
	came_and_went | cmp - figures || { echo "figures after the death of $who" >&2; exit 1; }
	grep -q 'round 2 goes on from step [1-9]' err || { cat err >&2; exit 1; }
done
without 'ps --index 0' --workers 2 --ps 2 -o cluster.journal=no
grep -q 'round 2 goes on from the beginning' err || { cat err >&2; exit 1; }
exit 0
