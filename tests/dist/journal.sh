#!/bin/sh
# Shards of ssp and async runs are killed, and of sync runs that ask for a journal: rows come
# back from it, nothing goes back to a version (there is none), and every count is exact.
#
#   KILLS=4 MODES='sync ssp async' GONE='ssp async' sh tests/dist/journal.sh
set -u
. "$SRCDIR/tests/dist/job_data.sh"
. "$SRCDIR/tests/dist/count_data.sh"
KILLS=${KILLS-2} MODES=${MODES-sync async} GONE=${GONE-ssp} OPTIONS=${OPTIONS-}
epochs=${EPOCHS-90}
expect 0 "$T" train count.ini -f whole --epochs "$epochs" -j 1
rows_of whole >want || exit 1
counted "$epochs" want || exit 1

# count TEXT: lines of the log that have it.
count() { grep -c "$1" err || :; }

# wait_for COMMAND...: until it succeeds, or the run is over.
wait_for() {
	until "$@"; do
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.02
	done
}


# is_training: worker 0 has told of some steps, so every shard has rows and a journal of them.
is_training() { "$T" node status --json 2>/dev/null | grep -q '"step":"[1-9]'; }

# more TEXT N: the log has it more than N times.
more() { [ "$(count "$1")" -gt "$2" ]; }

# one MODE [GONE]: shards die in turn, with their files when GONE is not empty; each death costs
# a step or two.
one() {
	rm -rf m
	# shellcheck disable=SC2086
	timeout -s KILL 120 "$T" train count.ini -f m --epochs "$epochs" -j 1 --workers 2 --ps 2 \
		-v -o train.checkpoint_every=0 -o cluster.restarts=1000 \
		-o placement.consistency="$1" -o cluster.journal=yes $OPTIONS >out 2>err & pid=$!
	begun m
	wait_for is_training
	[ -z "${2-}" ] || wait_for more 'has a copy of the journal' 1
	dead=0
	while [ $dead -lt "$KILLS" ]; do
		victim=$(nodes "ps --index $((dead % 2))")
		[ -n "$victim" ] || break
		before=$(count 'round [0-9]* goes on')
		[ -z "${2-}" ] || rm -rf "$TMP"/run/recsys-train/*/*.ps$((dead % 2))*
		kill -9 $victim 2>/dev/null || break
		dead=$((dead + 1))
		wait_for more 'round [0-9]* goes on' "$before" || break
		[ -z "${2-}" ] || wait_for more 'has a copy of the journal' "$((2 * dead + 1))"
		sleep 0.3
	done
	ends $pid
	[ $code = 0 ] || { echo "$1: exit $code" >&2; cat err >&2; exit 1; }
	rows_of m >have || exit 1
	same want have "$1: rows were lost or counted twice"
	nothing_left "$1"
	[ "$dead" -gt 0 ] || { echo "$1: nobody was killed" >&2; exit 1; }
	[ "$(count 'round [0-9]* goes on from step')" -ge "$dead" ] &&
		[ "$(count 'round [0-9]* goes on from the')" = 0 ] || {
		echo "$1: a death of a shard cost more than some steps" >&2
		grep -v 'resolved\|is not' err | head -60 >&2
		exit 1
	}
	steps=$(sed -n 's/.*, \([0-9]*\) to be done again.*/\1/p' err | sort -n | tail -n 1)
	echo "$1: $dead shards killed, $steps steps done again at most"
}

for mode in $MODES; do
	one "$mode"
done

# Hosts that are gone with all that was on them; the other shard has a copy.
OPTIONS="$OPTIONS -o cluster.replicas=2"
for mode in $GONE; do
	one "$mode" gone
done

# What cannot be is said before anything begins.
expect 78 "$T" train count.ini -f none --workers 1 --ps 1 -o cluster.replicas=2
says 'cluster.replicas = 2 with 1 parameter server'
says 'hint: a copy is kept by another shard'
expect 78 "$T" train count.ini -f none --workers 1 --ps 2 -o cluster.replicas=2 \
	-o cluster.journal=no
says 'cluster.replicas = 2 with cluster.journal = no'
