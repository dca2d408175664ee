#!/bin/sh
# placement.dense = nccl and auto where workers have no GPU: why it is not used is said, by the plan
# and by the workers; asked for, it is refused with 69, and between hosts without a trusted
# network with 78.  What sums instead gives the model of one process.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
undisturbed 2
# shellcheck disable=SC2086
set -- $RUN
expect 0 "$T" keygen job.key
expect 0 "$T" plan s.ini -o train.slots=6
if grep -q '^device     cuda: .' out; then
	expect 0 timeout -k 9 60 "$T" train s.ini -f auto "$@" --workers 2
	echo 'there is a GPU'
	exit 0
fi

expect 0 "$T" plan s.ini -o train.slots=6 --workers 2
grep -q '^dense      shm, .*: not nccl: [^;]*; not mpi: ' out || { cat out >&2; exit 1; }
expect 0 timeout -k 9 60 "$T" train s.ini -f auto "$@" --workers 2 -v
grep -q 'dense gradients are summed over shm, not nccl: worker 0: .' err ||
	{ cat err >&2; exit 1; }
dump auto >have
same want have 'not over nccl: another model'
expect 0 "$T" runs show last --json
prints '"key":"train.plane","value":"shm"'

for command in plan 'train -f none'; do
	# shellcheck disable=SC2086
	expect 69 "$T" $command s.ini $JOB --workers 2 -o placement.dense=nccl
	says 'placement.dense = nccl cannot be: '
	says 'set placement.dense = auto'
	# shellcheck disable=SC2086
	expect 78 "$T" $command s.ini $JOB --workers 2 -o placement.dense=nccl \
		-o placement.device=cpu
	says 'cannot be: placement.device = cpu'
done

# Processes that a launcher starts find it out together.
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$TMP"' EXIT
trap 'exit 143' HUP INT TERM
# by_rank MODEL LOCAL OPTION...: two processes; `code0` and `code1` are how they end.
by_rank() {
	model=$1 local=$2
	shift 2
	port=$((port + 1)) pids=
	for rank in 0 1; do
		RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$((rank * (local - 1))) LOCAL_WORLD_SIZE=$local \
			MASTER_ADDR=localhost MASTER_PORT=$port \
			timeout -k 9 60 "$T" train s.ini -f "$model" "$@" >"rank$rank.out" \
			2>"rank$rank.err" &
		pids="$pids $!"
	done
	for rank in 0 1; do
		ends "$(echo $pids | cut -d' ' -f$((rank + 1)))"
		eval "code$rank=$code"
	done
}
has_nccl=$("$T" --version | grep -c ' nccl[ ;]')
by_rank none 2 "$@" --ps 1 -o placement.dense=nccl
# shellcheck disable=SC2154
[ "$code0" = 69 ] && [ "$code1" = 69 ] || { echo "$code0 $code1" >&2; cat rank?.err >&2; exit 1; }
[ "$has_nccl" = 0 ] ||
	grep -q 'error: placement.dense = nccl: worker 0: .' rank0.err || { cat rank?.err >&2; exit 1; }
[ ! -e none ] || { echo 'a refused run left a model' >&2; exit 1; }
by_rank none 1 "$@" --ps 1 -o placement.dense=nccl
[ "$code0" = 78 ] && grep -q 'cluster.trusted_interface names no network' rank0.err ||
	{ echo "$code0 $code1" >&2; cat rank?.err >&2; exit 1; }
by_rank rank 2 "$@" --ps 1 -v
[ "$code0" = 0 ] && [ "$code1" = 0 ] || { cat rank?.err >&2; exit 1; }
grep -q 'dense gradients are summed over pushpull, not nccl: worker 0: .' rank0.err ||
	{ cat rank0.err >&2; exit 1; }
dump rank >have
same want have 'by RANK: another model'
nothing_left 'by RANK'
exit 0
