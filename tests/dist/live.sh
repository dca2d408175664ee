#!/bin/sh
# Processes of all roles are killed, one after the other: each time the run goes on from a step
# that it had done, or the one before, and it ends with the model of an undisturbed one, which
# no version could have told it: there is none before the end.
#
#   KILLS=4 SEED=1 sh tests/dist/live.sh
set -u
. "$SRCDIR/tests/dist/job_data.sh"
KILLS=${KILLS-3} state=${SEED-1}
make_rows 8000 1 >train.tsv
make_spec s.ini
set -- --epochs "${EPOCHS-30}" $JOB -o train.early_stop=0 -o train.checkpoint_every=10m \
	-o data.row_group=20k -o data.shuffle_window=60k -o dnn.dropout=0.1
expect 0 "$T" train s.ini -f whole "$@"
dump whole >want

# below N: a random number under N, in $random.
below() {
	state=$(((state * 69069 + 1) % 4294967296))
	random=$((state / 65536 % $1))
}

# count FILE TEXT: lines that have it.
count() { grep -c "$2" "$1" || :; }

# more FILE TEXT N: waits until more than N lines have it; 1: the run ended before.
more() {
	until [ "$(count "$1" "$2")" -gt "$3" ]; do
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.02
	done
}

# steps: waits until all take steps.
steps() { more out '"step":' "$(($(count out '"step":') + 1))"; }

# one WHO WORKERS SHARDS OPTION...: the roles WHO die in turn.
one() {
	who=$1 w=$2 s=$3
	shift 3
	rm -rf m
	timeout -s KILL 120 "$T" train s.ini -f m --workers "$w" --ps "$s" "$@" -v \
		-P 2400 --json >out 2>err & pid=$!
	begun m
	dead=0
	while [ $dead -lt "$KILLS" ] && steps; do
		below 300
		sleep 0.$((100 + random))
		below "$(echo "$who" | wc -w)"
		role=$(echo "$who" | cut -d ' ' -f $((random + 1)))
		victim=$(nodes "$(echo "$role" | sed 's/:/ --index /')")
		before=$(count err 'round [0-9]* goes on')
		[ -n "$victim" ] && kill -9 $victim 2>/dev/null || break
		dead=$((dead + 1))
		# A coordinator that comes back may find that the round goes on.
		[ "$role" = coordinator ] || more err 'round [0-9]* goes on' "$before" || break
	done
	ends $pid
	[ $code = 0 ] || { echo "$who: exit $code" >&2; cat err >&2; exit 1; }
	grep -q '"message_type":"summary".*"rows":240000,.*"rows_read":240000,' out ||
		[ -n "${EPOCHS-}" ] || { echo "$who: other rows" >&2; tail -n 1 out >&2; exit 1; }
	dump m >have
	same want have "$who: another model"
	nothing_left "$who"
	[ $dead -gt 0 ] || { echo "$who: nobody was killed" >&2; exit 1; }
	# Who dies when the final version is there costs nothing either.
	if grep 'round [0-9]* goes on from the' err | grep -v 'is the final one' >&2; then
		echo "$who: a death cost all that was done" >&2
		exit 1
	fi
	again=$(sed -n 's/.*, \([0-9]*\) to be done again.*/\1/p' err | sort -n | tail -n 1)
	[ "${again:=0}" -le 1 ] || { echo "$who: $again steps again" >&2; exit 1; }
	echo "$who: $dead killed, $again steps done again at most"
}

# L056: L045: L042: any of two workers, of the shards, the coordinator.
one 'worker:0 worker:1 ps:0 ps:1 coordinator' 2 2 "$@" -o cluster.journal=yes
# Without shards every worker has all tables.
one 'worker:0 worker:1 worker:2' 3 0 "$@" -o placement.mode=allreduce
