#!/bin/sh
# Gradients as int8 in sync: what rounding left out is in the versions, so a run that is
# stopped or killed and goes on ends with the dump of one that was not.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
undisturbed 1
# run MODEL WORKERS ARGUMENT...
run() {
	m=$1 w=$2
	shift 2
	# shellcheck disable=SC2086
	exec timeout -k 9 60 "$T" train s.ini -f "$m" $RUN --epochs 30 --workers "$w" --ps 2 \
		-o placement.compress=int8 -o placement.consistency=sync "$@"
}

(run plain 2) >out 2>err || { cat out err >&2; exit 1; }
dump plain >want

# stopped MODEL: a run that SIGTERM ends somewhere in it; 1: it was over before.
stopped() {
	(run "$1" 2) >out 2>err & pid=$!
	begun "$1"
	sleep "$(between 0.1 0.3)"
	kill -TERM $pid
	ends $pid
	[ $code = 143 ] && return 0
	[ $code = 0 ] || { echo "SIGTERM: exit $code" >&2; cat err >&2; exit 1; }
	return 1
}

if stopped same; then
	newest=$(find same -name 'v0*' | sort | tail -n 1)
	[ -s "$newest/rest.bin" ] || { echo 'no rest in the version' >&2; ls "$newest" >&2; exit 1; }
	grep -q 'rest.bin' "$newest/MANIFEST" || exit 1
	(run same 2 --resume) >out 2>err || { cat out err >&2; exit 1; }
fi
dump same >have
same want have 'stopped and resumed: another model'

# With other workers, and without rounding: the first loses nothing, the second says so.
if stopped other; then
	cp -R other none
	(run other 3 --resume) >out 2>err || { cat out err >&2; exit 1; }
	(run none 2 --resume -o placement.compress=none) >out 2>err || { cat out err >&2; exit 1; }
	says 'what rounding left out of gradients is dropped'
fi

(run killed 2 -o train.checkpoint_every=0.1) >out 2>err & pid=$!
begun killed
sleep "$(between 0.2 0.5)"
victim=$(nodes 'worker --index 1')
[ -z "$victim" ] || kill -9 $victim
ends $pid; [ $code = 0 ] || { echo 'a killed worker' >&2; cat out err >&2; exit 1; }
dump killed >have
same want have 'a killed worker: another model'
newest=$(find killed -name 'v0*' | sort | tail -n 1)
[ ! -e "$newest/rest.bin" ] || { echo 'the end of a run keeps a rest' >&2; exit 1; }
nothing_left 'at the end'
