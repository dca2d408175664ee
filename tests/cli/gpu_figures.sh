#!/bin/sh
# A short training on a GPU has the AUC of the CPU, tables there or here, fp32 or bf16, with the
# same bits again.  Needs a GPU; of Frappe where the data are, else of rows that are made.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 200 1 >few.tsv
make_spec few.ini
"$T" train few.ini -f few -q -o data.train=few.tsv -o placement.device=cuda >out 2>err || {
	echo "nothing ran on a GPU: $(sed -n 's/.*placement.device = cuda: //p' err)"
	exit 77
}

RECSYS_DATA=${RECSYS_DATA:-$SRCDIR/../shared/data}
export RECSYS_DATA
if [ -d "$RECSYS_DATA/frappe_x1" ]; then
	spec=$SRCDIR/configs/frappe-deepfm.ini
	set -- --epochs 2
else
	"$T" synth --layout criteo --rows 60000 -O log.tsv --no-header --spec-out s.ini || exit 1
	tail -n 10000 log.tsv >valid.tsv
	spec=s.ini
	set -- --valid valid.tsv --epochs 1
fi

# auc NAME OPTION...
auc() {
	name=$1
	shift
	rm -rf m
	expect 0 timeout -k 9 500 "$T" train "$spec" -f m --json "$@"
	sed -n 's/.*"valid":{[^}]*"auc":\([0-9.]*\).*/\1/p' out | tail -n 1 >"$name"
	[ -s "$name" ] || { cat out err >&2; echo "$name: no AUC" >&2; exit 1; }
}
# near NAME MOST: its AUC is within so much of the CPU's.
near() {
	echo "$1: AUC $(cat "$1"), on the CPU $(cat cpu)"
	awk -v a="$(cat "$1")" -v b="$(cat cpu)" -v most="$2" 'BEGIN {
		exit !(a - b <= most && b - a <= most) }' ||
		{ echo "$1: more than $2 apart" >&2; exit 1; }
}
auc cpu "$@" -o placement.device=cpu
for tables in host gpu; do
	auc "fp32-$tables" "$@" -o placement.device=cuda -o gpu.tables=$tables
	near "fp32-$tables" .0005
	dump m >once
	auc again "$@" -o placement.device=cuda -o gpu.tables=$tables
	dump m >twice
	same once twice "gpu.tables = $tables: the same run gives other bits"
	auc "bf16-$tables" "$@" -o placement.device=cuda -o gpu.tables=$tables \
		-o train.precision=bf16
	near "bf16-$tables" .002
done
exit 0
