#!/bin/sh
# Every model learns the same by the kernels' products as by OpenBLAS's, with zeros and without, of
# odd widths; where the kernels have none of their own both are OpenBLAS's.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1500 1 | awk -F'\t' -v OFS='\t' '{
	if (NR % 5 == 0) $4 = ""
	print $0, "c" NR % 11, "i" NR % 7 "|i" NR % 13
}' >train.tsv
make_spec s.ini
cat >>s.ini <<-END
	[field c]
	column = 5
	buckets = 100
	[field past]
	column = 6
	type = sequence
	share = item
END
# Adam divides a gradient that is nothing but rounding by its own size.
sgd='-o train.optimizer=sgd -o train.learning_rate=0.3'

# check TYPE OPTIONS: a model of TYPE and OPTIONS.
check() {
	type=$1
	shift
	for products in builtin openblas; do
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini $sgd -f m --fresh --epochs 1 -o model.type="$type" \
			-o train.products=$products "$@"
		"$T" predict m train.tsv --format logit -j 1 >$products || exit 1
	done
	paste builtin openblas | awk '
		{ far = $1 - $2; sum += $1 * $1; if (far < 0) far = -far; if (far > most) most = far }
		END { exit !(NR == 1500 && sum > 0 && most <= 1e-4 * sqrt(sum / NR)) }' ||
		fail "$type $*: other logits by the products of the kernels"
}

check deepfm -o dnn.hidden=130,65 -o train.batch_size=333
check deepfm -o dnn.hidden=97,64 -o dnn.dropout=0.5
check deepfm -o dnn.hidden=63,7 -o dnn.activation=prelu -o 'field x.dim=4' -o embedding.dim=4
check wide_deep -o dnn.hidden=1100,1 -o 'field x.dim=17'
check wide_deep -o dnn.hidden=80,72 -o dnn.activation=dice -o train.batch_size=1500
check dcn -o dnn.hidden=66 -o dnn.activation=gelu -o embedding.dim=9
check dcn -o dnn.hidden=64,64 -o dcn.rank=3 -o dcn.experts=2
check dlrm -o dnn.hidden=130,33 -o dlrm.bottom=65,4
check din -o dnn.hidden=65,64 -o din.attention=33
