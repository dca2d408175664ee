#!/bin/sh
# Exported models in ONNX Runtime: every model on rows of real data, with the inputs that
# `predict --format inputs` gives.  ALL=1 takes 10,000 rows, or all there are, each alone as
# well, and more variants of the models.
set -u
. "$SRCDIR/tests/export/export_data.sh"
D=${RECSYS_DATA-}
check=$SRCDIR/tests/export/onnx_check.py

reader onnx onnxruntime numpy
[ -d "$D" ] || { echo "no data in '$D' (RECSYS_DATA)"; exit 77; }
rows=1200 one=50 seconds=1
[ -z "${ALL-}" ] || { rows=10000 one=10000 seconds=20; }
export RECSYS_DATA="$D" OMP_NUM_THREADS=1

# compare NAME FILE DATA TOWER OPTION...
compare() {
	name=$1 file=$2 data=$3 tower=$4
	shift 4
	form=logit
	[ -z "$tower" ] || form=tsv
	# shellcheck disable=SC2086
	expect 0 "$T" -q predict "m-$name" $data $tower --format inputs -p rows.all
	# shellcheck disable=SC2086
	expect 0 "$T" -q predict "m-$name" $data $tower --format $form -p wanted.all
	tail -n "$rows" rows.all >rows
	tail -n "$rows" wanted.all >wanted
	"$python" "$check" "$file" rows wanted --one "$one" "$@" || exit 1
}

# try NAME SPEC DATA [OPTION...]: trains for a little, exports, compares.
try() {
	name=$1 spec=$2 data=$3
	shift 3
	# shellcheck disable=SC2086
	expect 0 "$T" -q train "$SRCDIR/configs/$spec.ini" -f "m-$name" -j 2 -P none \
		-o train.time_limit=$seconds -o train.epochs=1 -o data.valid= "$@"
	expect 0 "$T" export "m-$name" --to onnx -O "$name.onnx" --verify "$data" --rows "$rows"
	# shellcheck disable=SC2086
	compare "$name" "$name.onnx" "$data" '' $extra
}
extra=

# 57,722 rows that training does not see.
F=$D/frappe_x1
if [ -f "$F/valid.csv.gz" ]; then
	gzip -dc "$F/train_reconstructed.csv.gz" | head -20000 >frappe.csv
	gzip -dc "$F/valid.csv.gz" | head -$((rows + 1)) >frappe.valid.csv
	for model in deepfm dcn dcnv2 ${ALL:+wide_deep}; do
		try "frappe-$model" "frappe-$model" frappe.valid.csv -o data.train=frappe.csv \
			-o train.schedule=constant -o train.batch_size=512 -o dnn.hidden=64,32
	done
	try fm frappe-deepfm frappe.valid.csv -o data.train=frappe.csv -o model.type=fm \
		-o train.schedule=constant
	[ -z "${ALL-}" ] || try low_rank frappe-dcnv2 frappe.valid.csv -o data.train=frappe.csv -o dcn.rank=8 \
		-o dcn.experts=2 -o train.schedule=constant -o dnn.hidden=64,32
fi

# Numbers, some missing; 8,000 rows, and of all some of another sample.
C=$D/criteo_8k_raw
if [ -f "$C/train.tsv.gz" ]; then
	{
		gzip -dc "$C/train.tsv.gz" | cat - "$C"/dev.tsv "$C"/test.tsv
		[ -z "${ALL-}" ] || gzip -dc "$D/criteo_20k_coded/part1.csv.gz" | sed '1d; s/"//g' |
			cut -d, -f2- | tr , '\t' | head -2000
	} | tail -n "$rows" >criteo.tsv
	for model in dlrm ${ALL:+deepfm}; do
		try "criteo-$model" "criteo-$model" criteo.tsv
	done
fi

# Crosses, intervals.
if [ -f "$D/adult/adult.data.gz" ]; then
	gzip -dc "$D/adult/adult.data.gz" | head -"$rows" >adult.data
	try adult adult-wide_deep adult.data
fi

# Histories: none, one, the most; categories beside them.
S=$D/s3rec_seq
if [ -f "$S/LastFM.txt" ]; then
	mkdir lastfm
	head -110 "$S/LastFM.txt" >sequences
	expect 0 sh "$SRCDIR/share/convert/s3rec" -l 50 sequences "$S/LastFM_item2attributes.json" \
		"$S/LastFM_sample99.txt" lastfm
	awk -F, -v OFS=, 'NR > 1 && NR % 50 == 2 { print $1, $2, $3, $4, $5, $6, "", "" } 1' \
		lastfm/valid.csv | head -$((rows + 1)) >lastfm.valid.csv
	export LASTFM="$PWD/lastfm"
	extra='--lengths 0,1,50'
	try lastfm lastfm-din lastfm.valid.csv
	[ -z "${ALL-}" ] || try lastfm_dice lastfm-din lastfm.valid.csv -o din.softmax=no -o dnn.activation=dice
	[ -z "${ALL-}" ] || try lastfm_mean lastfm-din lastfm.valid.csv -o din.pooling=mean
fi
A=$D/alibaba_samples/din_amazon_elec_100.txt
if [ -f "$A" ]; then
	{ cat "$A"; awk -F';' -v OFS=';' 'NR < 9 { print "", "", $3, $4, $5 }' "$A"; } >amazon.txt
	extra='--lengths 0,1'
	try amazon amazon-din amazon.txt
fi

# Cosines, and the vectors of both towers.
M=$D/ml1m_m1
if [ -f "$M/test.txt" ]; then
	gzip -dc "$M/train.txt.gz" | head -1000 >ml1m.txt
	head -700 "$M/test.txt" >ml1m.valid.txt
	extra='--scale 0.17'
	try ml1m ml1m-two_tower ml1m.valid.txt -o data.train=ml1m.txt
	compare ml1m ml1m.user.onnx ml1m.valid.txt '--tower user'
	compare ml1m ml1m.item.onnx ml1m.valid.txt '--tower item'
	extra=
	[ -z "${ALL-}" ] || try dot amazonelectronics-two_tower "$D/amazonelectronics_m1/test.txt" \
		-o 'tower user.hidden=32,16' -o 'tower item.hidden=32,16'
fi
exit 0
