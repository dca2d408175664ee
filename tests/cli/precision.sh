#!/bin/sh
# train.precision = bf16: refused with the reason where the processor cannot; by rounding, which a
# forced set of kernels does, the same on any number of threads and workers, stopped or not, and
# as good as fp32, all on the CPU.  Figures to .0003 over three seeds on Frappe: tests/bench/storage_auc.sh.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/product_data.sh"
T=$RECSYS_TRAIN
unset RECSYS_TRAIN_KERNELS
make_rows 3000 1 >train.tsv
make_rows 2000 2 >valid.tsv
make_spec s.ini
halves 1500
wide='-o embedding.dim=8 -o dnn.hidden=32,16 -o train.slots=4 -o train.early_stop=0 -o placement.device=cpu'
narrow="$wide -o train.precision=bf16"

# What this machine can do is said alike by all who would do it.
expect 0 "$T" check s.ini -o train.precision=bf16
expect 78 "$T" check s.ini -o train.precision=fp8
# shellcheck disable=SC2086
if "$T" train s.ini $narrow -f real -P none --epochs 1 >out 2>err; then
	expect 0 "$T" plan s.ini $narrow
	expect 0 "$T" eval real valid.tsv
	echo 'this processor multiplies bfloat16'
else
	refused 'train.precision = bf16' 'train.precision = fp32' "$narrow" env
fi

export RECSYS_TRAIN_KERNELS=baseline
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $wide -f plain -j 1 --epochs 2
alike bf16 "$narrow"
dump plain >plain.dump
cmp -s plain.dump m1.dump && { echo 'bf16 made the model of fp32' >&2; exit 1; }
# A model of one precision goes on in the other.
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $narrow -f on -i plain --epochs 1

alike_models bf16 train.precision=bf16 "$narrow"

# Scoring is in fp32 and needs nothing of the processor: the figures of training are its own.
expect 0 "$T" synth -O log.tsv --rows 100000 --spec-out log.ini
expect 0 "$T" synth -O late.tsv --rows 30000 --start 100000
for seed in 1 2 3; do
	for precision in fp32 bf16; do
		expect 0 "$T" train log.ini -d log.tsv --valid late.tsv --fresh -f log --epochs 1 \
			-o train.seed=$seed -o train.precision=$precision --json
		auc=$(sed -n 's/.*"status":"ok".*"auc":\([0-9.]*\).*/\1/p' out)
		echo "$precision $auc" >>auc
	done
done
expect 0 env -u RECSYS_TRAIN_KERNELS "$T" eval log late.tsv --json
sed -n 's/.*"auc":\([0-9.]*\).*/\1/p' out >auc.eval
awk -v last="$auc" '{ if ($1 - last > 1e-6 || last - $1 > 1e-6) { print $1, last; exit 1 } }' \
	auc.eval || { echo 'eval scores another AUC than training' >&2; exit 1; }
awk '{ sum[$1] += $2 / 3 }
	END {
		far = sum["bf16"] - sum["fp32"]
		if (!(sum["fp32"] > 0.7) || far > 0.001 || far < -0.001) {
			print "auc", sum["fp32"], sum["bf16"]
			exit 1
		}
	}' auc || exit 1
exit 0
