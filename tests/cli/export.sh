#!/bin/sh
# export: what is written computes what the model does; what is damaged is named.
set -u
. "$SRCDIR/tests/export/export_data.sh"

make_logs log sequence retrieval criteo

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
try din sequence.tsv sequence
try two_tower retrieval.tsv retrieval
[ -s two_tower.user.onnx ] && [ -s two_tower.item.onnx ] || fail 'no files of the towers'

# Tables beside the file; a file that is there; one that is damaged.
expect 73 "$T" export m-deepfm --to onnx -O deepfm.onnx
says 'exists'
expect 0 "$T" export m-deepfm --to onnx -O deepfm.onnx --force --inline-bytes 0 --verify log.tsv
[ -s deepfm.onnx.data ] || fail 'no file of data'

# More than the tolerance: nothing is left behind.
differs() { expect 1 "$T" export m-din --to onnx -O "$@" --tolerance 0 --relative 0; }
differs x.onnx --verify sequence.tsv
says 'differ'
differs x.onnx --verify sequence.tsv --inline-bytes 0
[ -z "$(ls -A | grep -e '^x.onnx' -e '^\.tmp')" ] || fail 'a file that failed is left'

# What was there stays when what replaces it differs, or the disk is full.
cp din.onnx old.onnx
cp din.onnx.inputs.json old.json
echo data >din.onnx.data
unchanged() {
	cmp din.onnx old.onnx && cmp din.onnx.inputs.json old.json || fail "$1: an old file is lost"
	[ "$(cat din.onnx.data)" = data ] || fail "$1: the old file of data is lost"
	[ -z "$(ls -A | grep '^\.tmp')" ] || fail "$1: rubbish is left"
}
differs din.onnx --verify sequence.tsv --force
unchanged 'it differs'
differs din.onnx --verify sequence.tsv --force --inline-bytes 0
unchanged 'it differs, with data'
(trap '' XFSZ; ulimit -f 4; expect 74 "$T" export m-din --to onnx -O din.onnx --force \
	--inline-bytes 0) || exit 1
unchanged 'the disk is full'
(trap '' XFSZ; ulimit -f 4; expect 74 "$T" export m-din --to onnx -O din.onnx --force) || exit 1
unchanged 'the disk is full, one file'
expect 0 "$T" export m-din --to onnx -O din.onnx --force
[ ! -e din.onnx.data ] || fail 'the file of data of what was replaced is left'

# Rows are those of the spec, where they can be read.
prints 'verified 1500 rows of din.onnx'
expect 0 "$T" export m-din --to onnx -O din.onnx --force --rows 700
prints 'verified 700 rows of din.onnx'
expect 0 "$T" export m-din --to onnx -O din.onnx --force --no-verify
prints 'was not verified'
mv sequence.tsv away.tsv
expect 0 "$T" export m-din --to onnx -O din.onnx --force
prints 'was not verified'
expect 0 "$T" --json export m-din --to onnx -O din.onnx --force
prints '"message_type":"not_verified"'
mv away.tsv sequence.tsv
expect 64 "$T" export m-din --to onnx -O din.onnx --force --no-verify --verify sequence.tsv
expect 0 "$T" export m-din --to onnx -O din.onnx --check
prints 'verified 1500 rows of din.onnx'
expect 65 "$T" export m-deepfm --to onnx -O din.onnx --check --verify log.tsv
says 'the model does not have'

# B038: missing, unseen and negative ids, cells without a number, empty lists.
awk -F'\t' -v OFS='\t' 'NR > 1 {
	if (NR % 7 == 0) $3 = ""
	if (NR % 7 == 1) $4 = "-5"
	if (NR % 7 == 2) $5 = "never seen"
	if (NR % 7 == 3) $8 = ""
	if (NR % 7 == 4) $10 = ""
	if (NR % 7 == 5) $3 = $4 = $5 = $6 = $7 = $8 = $9 = $10 = ""
	if (NR % 7 == 6) $3 = -9223372036854775808
} 1' log.tsv | head -1001 >odd.tsv
for model in deepfm fm wide_deep dcn dcn2; do
	expect 0 "$T" export m-$model --to onnx -O $model.onnx --force --verify odd.tsv
	prints 'verified 1000 rows'
	awk '/verified/ && !($NF + 0 < 1e-5) { exit 1 }' out || fail 'B038'
done

# B036: tables beside the file; the limit of the format is told before any work.
expect 0 "$T" export m-deepfm --to onnx -O deepfm.onnx --force --inline-bytes 0
[ -s deepfm.onnx.data ] || fail 'B036: no file of data'
[ $(($(wc -c <deepfm.onnx.data) / 4096)) -gt 1 ] || fail 'B036: not aligned'

# L005: a table of one row, and of rows that no text is in.
cut -f3 --complement log.tsv | sed 's/^[^\t]*\t[^\t]*/&\t/; 1s/\t\t/\tuser\t/' >empty.tsv
sed 's/^buckets = .*/buckets = 1/' log.ini >one.ini
expect 0 "$T" -q train one.ini -f m-empty -o train.epochs=1 -o data.train=empty.tsv
expect 0 "$T" export m-empty --to onnx -O empty.onnx --inline-bytes 0
prints 'verified 1500 rows'

# L010, B028: the model and the files elsewhere, with nothing else there.
mkdir away
cp -r m-deepfm deepfm.onnx deepfm.onnx.data deepfm.onnx.inputs.json away
(cd away && mkdir none && expect 0 "$T" export m-deepfm --to onnx -O deepfm.onnx --check \
	--verify ../odd.tsv && prints 'verified 1000 rows') || exit 1

# A field with the name of an output.
sed 's/^\[field device\]/[field logit]/' log.ini >taken.ini
expect 0 "$T" -q train taken.ini -f m-taken -o train.epochs=1 -o embedding.buckets=200
expect 78 "$T" export m-taken --to onnx -O taken.onnx
says "'logit'"

expect 64 "$T" export m-din -O x.onnx
says 'hint: --to onnx, for instance'
expect 64 "$T" export m-din --to onx -O x.onnx
says "did you mean 'onnx'"
expect 64 "$T" export m-din --to onnx
expect 66 "$T" export nothing --to onnx -O x.onnx
exit 0
