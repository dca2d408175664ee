#!/bin/sh
# What numbers of two bytes cost in AUC (FAULTS L033 L035): DeepFM on Frappe.
#
#     [KEY=embedding.storage] [SEEDS="1 2 3"] [EPOCHS=50] [THREADS=1] \
#         sh tests/bench/storage_auc.sh [DIRECTORY]
#
# configs/frappe-deepfm.ini is trained with every value of KEY, embedding.storage or
# train.precision, and seed.  A line a run has the validation AUC and the bytes of the tables on
# disk; then the mean of each value over the seeds.  Ends with 1 when a mean is more than LIMIT
# (0.0005; of train.precision 0.0003, either way) below that of fp32.  Where the processor
# cannot multiply bfloat16, RECSYS_TRAIN_KERNELS=avx2 rounds to the same numbers.
set -eu
: "${RECSYS_TRAIN:=recsys-train}" "${SEEDS:=1 2 3}" "${EPOCHS:=50}" "${THREADS:=1}"
: "${KEY:=embedding.storage}"
case $KEY in
embedding.storage) values='fp32 bf16 fp16' limit=${LIMIT:-0.0005} either=0 ;;
train.precision) values='fp32 bf16' limit=${LIMIT:-0.0003} either=1 ;;
*) echo "KEY: embedding.storage or train.precision, not '$KEY'" >&2; exit 64 ;;
esac
: "${RECSYS_DATA:=../shared/data}"
RECSYS_DATA=$(cd "$RECSYS_DATA" && pwd)
export RECSYS_DATA
here=$(cd "$(dirname "$0")/../.." && pwd)
W=${1:-$(mktemp -d)}
mkdir -p "$W"
cd "$W"

: >results
for seed in $SEEDS; do
	for value in $values; do
		m=$value-$seed
		rm -rf "$m"
		"$RECSYS_TRAIN" train "$here/configs/frappe-deepfm.ini" -f "$m" -j "$THREADS" -P none \
			--epochs "$EPOCHS" -o "train.seed=$seed" -o "$KEY=$value" \
			>"$m.out" 2>"$m.err"
		auc=$("$RECSYS_TRAIN" eval "$m" "$RECSYS_DATA/frappe_x1/valid.csv.gz" --json |
			sed -n 's/.*"auc":\([0-9.]*\).*/\1/p')
		newest=$(find "$m" -name 'v0*' | sort | tail -n 1)
		bytes=$(cat "$newest"/table-*.bin | wc -c)
		echo "$value seed $seed auc $auc bytes $bytes" | tee -a results
		rm -rf "$m"
	done
done

awk -v limit="$limit" -v either=$either '
	{ sum[$1] += $5; n[$1]++ }
	END {
		for (s in sum)
			mean[s] = sum[s] / n[s]
		for (s in mean) {
			printf "%s mean auc %.5f of %d seeds, %+.5f\n", s, mean[s], n[s],
				mean[s] - mean["fp32"]
			bad += mean["fp32"] - mean[s] > limit
			bad += either && mean[s] - mean["fp32"] > limit
		}
		exit bad > 0
	}' results
