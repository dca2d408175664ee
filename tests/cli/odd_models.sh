#!/bin/sh
# Odd specs and rows of the models: an error with a hint where nothing sensible can
# be trained, and a model where it can.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
small="-o embedding.buckets=300 -q --fresh --epochs 1"

"$T" synth --layout sequence --users 100 --items 60 --rows 600 -O clicks.tsv --spec-out din.ini -q || exit 1
"$T" synth --layout retrieval --users 100 --items 60 --rows 600 -O taken.tsv --spec-out tower.ini -q || exit 1

# din NAME CODE TEXT OPTION...; tower likewise.
try() {
	spec=$1 valid=$2 code=$3 text=$4
	shift 4
	# shellcheck disable=SC2086
	expect "$code" "$T" train "$spec.ini" --valid "$valid" -f "m.$spec" $small "$@"
	[ "$code" = 0 ] || says "$text"
}
din() { try din clicks.tsv "$@"; }
tower() { try tower taken.tsv "$@"; }

# Histories: none at all, one row, unequal lengths.
awk -F '\t' -v OFS='\t' 'NR > 1 { $7 = ""; $8 = "" } 1' clicks.tsv >empty.tsv
head -n 2 clicks.tsv >one.tsv
awk -F '\t' -v OFS='\t' 'NR == 5 { $7 = $7 "|i1" } 1' clicks.tsv >unequal.tsv
for options in '' '-o din.softmax=yes' '-o din.activation=dice -o dnn.batch_norm=yes' '-o din.attention='; do
	# shellcheck disable=SC2086
	din 0 '' -d empty.tsv $options
	# shellcheck disable=SC2086
	din 0 '' -d one.tsv $options
done
din 65 'unequal.tsv:5:' -d unequal.tsv
din 78 'there is no field' -o 'field clicked_items.share=nothing'
din 78 'needed' -o 'field clicked_items.share='
din 78 'max_length' -o 'field clicked_items.max_length=3'
din 78 'field of type sequence' -o 'field clicked_items.type=multi' -o 'field clicked_categories.type=multi'

# Towers and items.
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 0 } 1' taken.tsv >refused.tsv
awk -F '\t' 'NR == 1 || $6 == "i0"' taken.tsv >single.tsv
tower 65 'no row of epoch 1 has a label above 0' -d refused.tsv
tower 65 'early stop on auc is impossible' -o train.monitor=auc -o train.early_stop=1 --epochs 3
tower 78 "is not a field of [tower item]" -o items.fields=item,user
tower 78 'is not among them' -o items.fields=item
tower 78 'is named twice' -o 'tower user.fields=item'
tower 78 "did you mean 'recall@20'" -o eval.metrics=recal@20
tower 78 'number of places' -o eval.metrics=recall@0
tower 0 '' -o eval.metrics=recall@100000 -o train.monitor=recall@100000
tower 65 'at least 2 are needed' -d single.tsv -o model.loss=bpr -o items.negatives=2
tower 0 '' -o model.loss=bpr -o items.negatives=500
tower 0 '' -o model.loss=sampled_softmax -o items.negatives=500
# Every item of every user is masked: no figure, but no failure either.
tower 0 '' -o eval.mask_seen=yes

# What remains of a damaged list of items is named.
tower 0 '' -f items -o model.loss=full_softmax
file=$(ls items/v*/items.bin)
printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc 2>/dev/null
expect 65 "$T" eval items taken.tsv
says "$file"
