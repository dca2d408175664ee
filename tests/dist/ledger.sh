#!/bin/sh
# Rows that count: every id adds exactly 2^-20 to its weight, so a weight tells how
# often its rows were trained.  Processes are killed and stopped at random; at the end
# every count is exact: nothing was lost, nothing was counted twice, nothing hangs.
#
#   KILLS=300 STOPS=50 SEED=1 MODES='sync ssp async' STOP_MS=2600 sh tests/dist/ledger.sh
#
# Prints how long the starter took to notice a kill, and fails when one takes 1 s.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
KILLS=${KILLS-2} STOPS=${STOPS-1} SEED=${SEED-1} MODES=${MODES-sync async}
state=$SEED
limit=${LIMIT-120}             # seconds that one run may take
longest=0 slow=0 done_kills=0 done_stops=0 runs=0

. "$SRCDIR/tests/dist/count_data.sh"
epochs=${EPOCHS-160}
expect 0 "$T" train count.ini -f whole --epochs "$epochs" -j 1
rows_of whole >want || exit 1
# The counts themselves, by arithmetic of another program.
counted "$epochs" want || { echo 'the undisturbed run does not count its rows' >&2; exit 1; }

# below N: a random number under N, in $random.
below() {
	state=$(((state * 69069 + 1) % 4294967296))
	random=$((state / 65536 % $1))
}

# pause MS: sleeps so many milliseconds.
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

now() { date +%s%N; }

# stamp: every line of standard input with the time it came.
stamp() { while IFS= read -r line; do echo "$(now) $line"; done; }

# role PID: "worker 1", of a child, as the starter names it.
role() {
	{ tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null |
		sed -n 's/.*--role \([a-z]*\) --index \([0-9]*\).*/\1 \2/p' |
		sed 's/^coordinator 0/coordinator/'
}

# wait_noticed ROLE SINCE: how long until the starter said that it was killed.
wait_noticed() {
	for _ in $(seq 60); do
		at=$(awk -v who="$1 was killed by signal 9" -v since="$2" \
			'index($0, who) && $1 >= since { print $1; exit }' log)
		[ -n "$at" ] && break
		[ "$(tail -1 status 2>/dev/null)" = ended ] && return
		sleep 0.05
	done
	if [ -z "${at-}" ]; then
		echo "a kill of $1 at $2 was not noticed in 3 s" >&2
		cut -c1-160 log >&2
		slow=$((slow + 1))
		return
	fi
	took=$(((at - $2) / 1000000))
	[ "$took" -gt "$longest" ] && longest=$took
	[ "$took" -ge 1000 ] && slow=$((slow + 1))
}

# disturb: kills a random process of the run, or stops it for 0.2 to 2.8 s.
disturb() {
	# shellcheck disable=SC2046
	set -- $(nodes .)
	[ $# -gt 0 ] || return
	below $#
	shift "$random"
	who=$(role "$1")
	[ -n "$who" ] || return
	below $((KILLS + STOPS))
	if [ "$done_stops" -lt "$STOPS" ] && [ "$random" -lt "$STOPS" ] ||
		[ "$done_kills" -ge "$KILLS" ]; then
		done_stops=$((done_stops + 1))
		below "${STOP_MS-2600}"
		kill -STOP "$1" 2>/dev/null
		pause $((200 + random))
		kill -CONT "$1" 2>/dev/null
		return
	fi
	since=$(now)
	kill -9 "$1" 2>/dev/null || return
	done_kills=$((done_kills + 1))
	wait_noticed "$who" "$since"
}

# one MODE: a run that is disturbed until it ends, and what it counted.
one() {
	runs=$((runs + 1))
	rm -rf m log status
	{ timeout -s KILL "$limit" "$T" train count.ini -f m --epochs "$epochs" -j 1 --workers 2 \
		--ps 2 -o train.checkpoint_every=0.5 -o cluster.restarts=100000 \
		-o placement.consistency="$1" 2>&1 >/dev/null; echo "exit $?" >status; echo ended \
		>>status; } 2>&1 | stamp >log & stamper=$!
	while [ "$(tail -1 status 2>/dev/null)" != ended ] && kill -0 $stamper 2>/dev/null; do
		below 1500
		pause "$random"
		[ $((done_kills + done_stops)) -lt $((KILLS + STOPS)) ] && disturb
	done
	ends $stamper 20        # it hears the last process that could say something
	[ -s status ] || echo "no status" >status
	if [ "$(head -1 status)" != 'exit 0' ]; then
		echo "$1: $(head -1 status) (137: it hung)" >&2
		cut -d' ' -f2- log >&2
		exit 1
	fi
	rows_of m >have || exit 1
	same want have "$1: rows were lost or counted twice"
	nothing_left "$1"
}

while [ $((done_kills + done_stops)) -lt $((KILLS + STOPS)) ]; do
	before=$((done_kills + done_stops))
	for mode in $MODES; do
		one "$mode"
	done
	[ $((done_kills + done_stops)) -gt "$before" ] || epochs=$((epochs * 2))
done
echo "ledger: $runs runs, $done_kills kills and $done_stops stops: every count exact;" \
	"a kill was noticed in $longest ms at most"
[ "$slow" = 0 ] || { echo "$slow kills were noticed too late" >&2; exit 1; }
