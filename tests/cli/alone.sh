#!/bin/sh
# A row has the score to the last bit that it has among others, alone and with two beside it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1500 1 >train.tsv
make_spec s.ini

# scores ROWS FILE: of model m.
scores() {
	RECSYS_TRAIN_KERNELS=$set "$T" predict m "$1" --format logit -j 1 >"$2" || exit 1
}

# check TYPE OPTIONS: a model of TYPE and OPTIONS.
check() {
	type=$1
	shift
	# shellcheck disable=SC2086
	expect 0 env RECSYS_TRAIN_KERNELS=$set "$T" train s.ini -f m --fresh --epochs 1 \
		-o model.type=$type "$@"
	scores train.tsv all
	for size in 1 3; do
		: >few
		for begin in $(seq $size 7 60); do
			sed -n "$begin,$((begin + size - 1))p" train.tsv >rows
			scores rows out
			cat out >>few
			sed -n "$begin,$((begin + size - 1))p" all
		done >want
		[ -s want ] && same want few "$type $*: other scores by $size"
	done
}

set=avx2
RECSYS_TRAIN_KERNELS=$set "$T" plan s.ini >out 2>err ||
	{ grep -q 'cannot run kernel set' err || { cat err; exit 1; }; exit 77; }
check deepfm -o embedding.dim=8 -o dnn.hidden=33,700,5
check dcn -o embedding.dim=7 -o dnn.hidden=1100,17
check wide_deep -o dnn.hidden=64
check dlrm -o dnn.hidden=9,7
