#!/bin/sh
# Sums of squares decay at the same steps wherever the rows are, also when those die that
# have them.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 4000 1 >train.tsv
make_spec s.ini
JOB="$JOB --epochs 8 -o embedding.decay_every=17 -o embedding.decay=0.5"

# run MODEL ARGUMENT...
run() {
	m=$1
	shift
	# shellcheck disable=SC2086
	timeout -k 9 60 "$T" train s.ini -f "$m" $JOB -P none "$@"
}
run alone >out 2>err || { cat out err >&2; exit 1; }
dump alone >want
run never -o embedding.decay_every=0 >out 2>err || { cat out err >&2; exit 1; }
dump never >have
cmp -s want have && { echo 'nothing decays' >&2; exit 1; }
for how in '--workers 2 --ps 2' '--workers 3 --ps 0 -o placement.mode=allreduce'; do
	rm -rf many
	# shellcheck disable=SC2086
	run many $how -o train.full_every=9 -o train.keep=99 \
		-o train.checkpoint_every=0.005 >out 2>err || {
		echo "$how" >&2; cat out err >&2; exit 1; }
	dump many >have
	same want have "$how: another model"
	# A version of what changed has the decays of all other rows; how many versions there are is
	# a matter of time.
	decays=0
	for delta in many/v*/table-user.0-of-1.delta; do
		decays=$((decays + $(od -An -tu4 -j 296 -N 4 "$delta")))
	done
	[ $decays -gt 0 ] || { echo "$how: $decays decays in deltas" >&2; ls many/v* >&2; exit 1; }
done
for who in 'ps --index 0' 'worker --index 1'; do
	loses killed "$who" 'grep -q "\"epoch\":[2-9]," out' \
		run killed --workers 2 --ps 2 -o train.checkpoint_every=0.2 -v --json
	dump killed >have
	same want have "killed $who: another model"
done
nothing_left 'after the kills'
