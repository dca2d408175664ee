#!/bin/sh
# train under mpirun of Open MPI and of MPICH: the dump of one process, exit codes, deaths of
# workers and shards, resume, and nothing left behind.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
"$T" --version | grep -qw mpi || { echo 'built without MPI'; exit 77; }
make_rows 3000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
set -- --valid valid.tsv --epochs 3 $JOB -o train.batch_size=240 -o train.early_stop=0 \
	-o cluster.bucket_bytes=300 \
	-o data.row_group=20k -o data.shuffle_window=60k

expect 0 "$T" train s.ini -f whole "$@"
dump whole >want
expect 0 "$T" train s.ini -f whole120 "$@" --epochs 120
dump whole120 >want120

# The leaks of the libraries are not ours.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# as LIBRARY N COMMAND...: N ranks of mpirun.
as() {
	library=$1 n=$2
	shift 2
	case $library in
	openmpi) timeout -k 9 60 mpirun.openmpi --allow-run-as-root --oversubscribe -np "$n" "$@" ;;
	mpich) timeout -k 9 60 mpirun.mpich -np "$n" "$@" ;;
	esac
}

# workers_left: no rank of this script runs two seconds from now.
workers_left() {
	tries=0
	while pgrep -f -- "recsys-train train s.ini.*$TMP/" >/dev/null; do
		tries=$((tries + 1))
		[ $tries -le 100 ] || { echo "ranks left: $1" >&2; exit 1; }
		sleep 0.02
	done
	nothing_left "$1"
}

# rank N: the process of that rank; the one beside rank 0 comes after it.
rank() {
	for pid_of in $(pgrep -f -- "recsys-train train s.ini.*$TMP/"); do
		if tr '\0' '\n' <"/proc/$pid_of/environ" | grep -Eq "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$"
		then
			echo "$pid_of"
			return
		fi
	done 2>/dev/null
}

ran=0
for library in openmpi mpich; do
	if ! command -v mpirun.$library >/dev/null || [ ! -f "$BUILDDIR/recsys-train-mpi-$library.so" ]
	then
		echo "no mpirun of $library or no plug-in for it"
		continue
	fi
	ran=$((ran + 1))

	# The bits of one process: over shards, without any, and with sums through the shards.
	case $library in
	openmpi) other='2 -oplacement.mode=allreduce' victim=1 ;;
	mpich) other='2 --ps=1 -oplacement.dense=pushpull' victim=0 ;;
	esac
	for grid in '3 --ps=2' "$other" '2 --ps=1 -oplacement.dense=shm'; do
		# Word splitting is wanted.
		# shellcheck disable=SC2086
		expect 0 as $library ${grid%% *} "$T" train s.ini -f "$TMP/m" ${grid#* } "$@"
		dump m >have
		same want have "$library $grid: another model"
		workers_left "by $library $grid"
		rm -rf m
	done
	expect 0 "$T" runs show last --json --db runs.db
	prints '"status":"ok"'

	# What rank 0 alone refuses is told to the others.
	expect 73 as $library 2 "$T" train s.ini -f "$TMP/whole" --ps 1 "$@"
	says '--fresh'
	[ "$(grep -c 'error:' err)" = 1 ] || { cat err; exit 1; }
	expect 64 as $library 2 "$T" train s.ini -f "$TMP/m" --workers 3 "$@"
	workers_left "by refused jobs of $library"

	# A worker that dies ends the job at once; --resume goes on to the same model.
	set -- "$@" -o train.checkpoint_every=0.05
	as $library 2 "$T" train s.ini -f "$TMP/m" --ps 2 "$@" --epochs 120 >out 2>err & pid=$!
	begun m
	sleep 0.1
	kill -9 "$(rank $victim)" || { echo "no rank $victim" >&2; exit 1; }
	ends $pid
	case $code in
	0 | 124) echo "$library: rank $victim was killed: exit $code" >&2; cat err >&2; exit 1 ;;
	esac
	workers_left "after rank $victim of $library was killed"
	resume=--resume
	[ -n "$(ls -A m | grep '^v')" ] || resume=--fresh
	expect 0 as $library 2 "$T" train s.ini -f "$TMP/m" --ps 1 $resume "$@" --epochs 120
	workers_left "by $library --resume"
	dump m >have
	same want120 have "$library: another model after --resume"
	rm -rf m

	# A shard that dies is started again.
	as $library 2 "$T" train s.ini -f "$TMP/m" --ps 2 "$@" --epochs 120 >out 2>err & pid=$!
	begun m
	sleep 0.1
	kill -9 "$(nodes 'ps --index 1' | head -n 1)"
	ends $pid
	[ $code = 0 ] || { echo "$library: a shard was killed: exit $code" >&2; cat err >&2; exit 1; }
	grep -q 'ps 1 was killed by signal 9.*started again' err || { cat err >&2; exit 1; }
	dump m >have
	same want120 have "$library: another model after a shard was killed"
	workers_left "after a shard was killed under $library"
	rm -rf m
done
[ $ran -gt 0 ] || exit 77
