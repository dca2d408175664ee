#!/bin/sh
# Every grid of workers and shards, with one thread a worker and with two, over every
# dense plane, with gradients in one bucket and in many, twice: the dump of one process, to
# the bit.
#
#   GRIDS='1x1 1x2 ... 3x3' PLANES='shm pushpull openmpi mpich' MODELS='deepfm dcn din two_tower'
#   BUCKETS='0 300'
#
# By default a few of them; ALL=1 takes all, which lasts some minutes.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
. "$SRCDIR/tests/cli/models_data.sh"
if [ -n "${ALL-}" ]; then
	: "${GRIDS=1x1 1x2 1x3 2x1 2x2 2x3 3x1 3x2 3x3}" "${PLANES=shm pushpull openmpi mpich}"
	: "${MODELS=deepfm dcn din two_tower}" "${THREADS=1 2}" "${TIMES=1 2}"
	: "${BUCKETS=0 300}"
else
	: "${GRIDS=3x2}" "${PLANES=shm pushpull}" "${MODELS=deepfm two_tower}" "${THREADS=2}"
	: "${TIMES=1}" "${BUCKETS=300}"
fi
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
runs=0

# spec MODEL: data and options of the model, with batch norm or the softmax over the batch.
spec() {
	case $1 in
	two_tower) data=taken train=taken.tsv
		options='-o model.loss=softmax' ;;
	*) data=clicks train=train.tsv options='-o dnn.batch_norm=yes -o dnn.dropout=0.1' ;;
	esac
}

# start PLANE W S COMMAND...: the command as a run of W workers and S shards.
start() {
	plane=$1 w=$2 s=$3
	shift 3
	case $plane in
	openmpi) timeout -k 9 90 mpirun.openmpi --allow-run-as-root --oversubscribe -np "$w" "$@" --ps "$s" ;;
	mpich) timeout -k 9 90 mpirun.mpich -np "$w" "$@" --ps "$s" ;;
	*) timeout -k 9 90 "$@" --workers "$w" --ps "$s" -o "placement.dense=$plane" ;;
	esac
}

# try COMMAND...: one run of it, as the variables say.
try() {
	rm -rf m
	start "$plane" "${grid%x*}" "${grid#*x}" "$@" -f m -j "$threads" \
		-o "cluster.bucket_bytes=$bucket" >out 2>err \
		|| { echo "$plane $model $grid: $?" >&2; cat err >&2; exit 1; }
	dump m >got
	same want got "$plane $model $grid -j $threads, bucket $bucket, time $time: another model"
	runs=$((runs + 1))
}

for plane in $PLANES; do
	case $plane in openmpi | mpich)
		if ! command -v mpirun.$plane >/dev/null || [ ! -f "$BUILDDIR/recsys-train-mpi-$plane.so" ]; then
			echo "skipped: no $plane here"
			continue
		fi ;;
	esac
	for model in $MODELS; do
		spec "$model"
		set -- "$T" train $data.ini -d $train $JOB -q --epochs 1 -o "model.type=$model" \
			-o train.batch_size=300 $options
		rm -rf one
		expect 0 "$@" -f one -j 1
		dump one >want
		for grid in $GRIDS; do
			for threads in $THREADS; do
				for bucket in $BUCKETS; do
					for time in $TIMES; do
						try "$@"
					done
				done
			done
		done
		nothing_left "by $plane $model"
	done
done
echo "grid: $runs runs, every dump that of one process"
[ $runs -gt 0 ]
