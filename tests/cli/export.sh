#!/bin/sh
# export: what is written computes what the model does; what is damaged is named.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
fail() { echo "export.sh: $1" >&2; exit 1; }

"$T" -q synth --rows 1500 --users 50 --items 20 -O log.tsv --spec-out log.ini
"$T" -q synth --rows 1500 --layout sequence --users 50 --items 20 -O seq.tsv --spec-out seq.ini
"$T" -q synth --rows 1500 --layout retrieval --users 50 --items 20 -O two.tsv --spec-out two.ini
"$T" -q synth --rows 1500 --layout criteo -O criteo.tsv --spec-out criteo.ini

# try NAME DATA SPEC [OPTION...]: trains a little and exports.
try() {
	name=$1 data=$2 spec=$3
	shift 3
	expect 0 "$T" -q train $spec.ini -f "m-$name" -o train.epochs=1 -o train.batch_size=256 \
		-o embedding.buckets=200 "$@"
	expect 0 "$T" export "m-$name" --to onnx -O "$name.onnx" --verify "$data"
	prints 'verified 1500 rows'
}
try deepfm log.tsv log
try fm log.tsv log -o model.type=fm
try wide_deep log.tsv log -o model.type=wide_deep -o dnn.batch_norm=yes -o dnn.activation=gelu
try dcn log.tsv log -o model.type=dcn -o dcn.version=v1 -o dnn.activation=prelu
try dcn2 log.tsv log -o model.type=dcn -o dnn.activation=dice
try criteo criteo.tsv criteo
try dlrm criteo.tsv criteo -o model.type=dlrm -o embedding.dim=8
try din seq.tsv seq
try two_tower two.tsv two
[ -s two_tower.user.onnx ] && [ -s two_tower.item.onnx ] || fail 'no files of the towers'

# Tables beside the file; a file that is there; one that is damaged.
expect 73 "$T" export m-deepfm --to onnx -O deepfm.onnx
says 'exists'
expect 0 "$T" export m-deepfm --to onnx -O deepfm.onnx --force --inline-bytes 0 --verify log.tsv
[ -s deepfm.onnx.data ] || fail 'no file of data'

# More than the tolerance: nothing is left behind.
expect 1 "$T" export m-din --to onnx -O x.onnx --verify seq.tsv --tolerance 0 --relative 0
says 'differ'
[ ! -e x.onnx ] && [ ! -e x.onnx.inputs.json ] || fail 'a file that failed is left'

expect 64 "$T" export m-din --to onx -O x.onnx
says "did you mean 'onnx'"
expect 64 "$T" export m-din --to onnx
expect 66 "$T" export nothing --to onnx -O x.onnx
exit 0
