#!/bin/sh
# train.precision = bf16: refused with the reason where the processor cannot; by rounding, which a
# forced set of kernels does, the same on any number of threads and workers, stopped or not, and
# as good as fp32, all on the CPU.  Figures to .0003 over three seeds on Frappe: tests/bench/storage_auc.sh.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
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
	for command in 'train s.ini -f none' 'train s.ini -f none -o cluster.workers=2' \
		'plan s.ini' 'bench s.ini --rows 1000 --seconds 1'; do
		# shellcheck disable=SC2086
		expect 78 "$T" $command $narrow
		says 'train.precision = bf16: '
		says 'set train.precision = fp32'
		[ ! -e none ] || { echo 'a refused run left a model' >&2; exit 1; }
	done
fi

export RECSYS_TRAIN_KERNELS=baseline
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $wide -f plain -j 1 --epochs 2
for threads in 1 2 3; do
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $narrow -f m$threads -j $threads --epochs 2
	dump m$threads >m$threads.dump
	same m1.dump m$threads.dump "bf16: $threads threads make another model"
done
dump plain >plain.dump
cmp -s plain.dump m1.dump && { echo 'bf16 made the model of fp32' >&2; exit 1; }
if "$T" --version | grep -qw zmq; then
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $narrow -f many -j 1 --epochs 2 --workers 2 --ps 1
	dump many >many.dump
	same m1.dump many.dump 'bf16: two workers make another model'
fi
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $narrow -f whole -o data.shuffle=no --epochs 1
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $narrow -f half -o data.shuffle=no --epochs 1 -d a.tsv
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $narrow -f half -o data.shuffle=no --epochs 1 -d b.tsv -i half
dump whole >whole.dump
dump half >half.dump
same whole.dump half.dump 'bf16: stopped and gone on, another model'
# A model of one precision goes on in the other.
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $narrow -f on -i plain --epochs 1

# Towers, whose rounds go over the same weights in several passes; a wide cross layer.
expect 0 "$T" synth --layout retrieval -O pairs.tsv --rows 3000 --spec-out two.ini
for threads in 1 3; do
	expect 0 "$T" train two.ini -d pairs.tsv -f two$threads -j $threads --epochs 1 \
		-o train.precision=bf16 -o train.slots=4
	dump two$threads >two$threads.dump
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $narrow -o model.type=dcn -f dcn$threads -j $threads --epochs 1
	dump dcn$threads >dcn$threads.dump
done
same two1.dump two3.dump 'bf16: another two_tower with three threads'
same dcn1.dump dcn3.dump 'bf16: another dcn with three threads'

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
