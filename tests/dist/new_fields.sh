#!/bin/sh
# Many processes go on from a model of other fields as one does: new fields start fresh, what
# is left of removed ones stays in the versions, also when worker 0 dies.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 2000 2 >next.tsv
make_spec s.ini
# without item, with a copy of user
awk '/^\[/ { skip = $0 == "[field item]" } !skip' s.ini >other.ini
printf '[field extra]\ncolumn = 3\nbuckets = 30\n' >>other.ini
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f base $JOB

# run MODEL ARGUMENT...: goes on from base with other fields.
run() {
	m=$1
	shift
	# shellcheck disable=SC2086
	exec timeout -k 9 60 "$T" train other.ini -f "$m" -i base -d next.tsv $JOB --allow-new-fields \
		--epochs 10 -P none "$@"
}
(run alone) >out 2>err || { cat out err >&2; exit 1; }
dump alone >want
grep -q '^table item ' want || { echo 'the removed table is not in the version' >&2; exit 1; }
grep -q '^table extra ' want || { echo 'there is no new table' >&2; exit 1; }
for how in '--workers 2 --ps 2' '--workers 2 --ps 0 -o placement.mode=allreduce'; do
	rm -rf many
	# shellcheck disable=SC2086
	(run many $how) >out 2>err || { echo "$how" >&2; cat out err >&2; exit 1; }
	dump many >have
	same want have "$how: another model"
done

(run killed --workers 2 --ps 2 -o train.checkpoint_every=0.2) >out 2>err & pid=$!
begun killed
sleep "$(between 0.2 0.5)"
nodes 'worker --index 0' | xargs -r kill -KILL
ends $pid
[ $code = 0 ] || { echo "killed: exit $code" >&2; cat err >&2; exit 1; }
dump killed >have
same want have 'killed: another model'
nothing_left 'after the kill'
