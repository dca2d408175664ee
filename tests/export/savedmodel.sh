#!/bin/sh
# export --to savedmodel: TensorFlow itself computes what the model does.
set -u
. "$SRCDIR/tests/export/export_data.sh"

make_logs log sequence retrieval criteo
cp "$SRCDIR/tests/export/odd.ini" .
awk -f "$SRCDIR/tests/export/odd.awk" >odd.tsv
jobs=

# try NAME DATA SPEC HEADER [OPTION...]: trains a little and exports in both forms.
try() {
	name=$1 data=$2 spec=$3 header=$4
	shift 4
	expect 0 "$T" -q train $spec.ini -f "m-$name" -o train.epochs=1 -o train.batch_size=256 "$@"
	expect 0 "$T" export "m-$name" --to savedmodel -O "$name" --inline-bytes 2e9 --verify "$data"
	prints 'verified 1'
	[ ! -e "$name/1/variables" ] || fail 'variables that were not wanted'
	expect 0 "$T" export "m-$name" --to savedmodel -O "$name.v" --inline-bytes 0 --verify "$data"
	prints 'verified 1'
	[ -s "$name.v/1/variables/variables.index" ] || fail 'no variables'
	"$T" predict "m-$name" "$data" --format logit >"$name.logit" 2>err || fail "$(cat err)"
	jobs="$jobs $name/1:$data:$name.logit$header $name.v/1:$data:$name.logit$header"
}
small='-o embedding.buckets=200'
try deepfm log.tsv log :header $small
try fm log.tsv log :header $small -o model.type=fm
try wide_deep log.tsv log :header $small -o model.type=wide_deep -o dnn.batch_norm=yes \
	-o dnn.activation=gelu
try dcn log.tsv log :header $small -o model.type=dcn -o dcn.version=v1 -o dnn.activation=prelu
try dcn2 log.tsv log :header $small -o model.type=dcn -o dnn.activation=dice
try criteo criteo.tsv criteo '' $small -o dnn.hidden=32
try dlrm criteo.tsv criteo '' $small -o model.type=dlrm -o embedding.dim=8
try din sequence.tsv sequence :header $small
try two_tower retrieval.tsv retrieval :header $small
try odd odd.tsv odd :header
try exact log.tsv log :header -o embedding.table=exact
try exact_din sequence.tsv sequence :header -o embedding.table=exact
try exact_odd odd.tsv odd :header -o embedding.table=exact

# A version that is there; one that is replaced; no parts are left.
expect 73 "$T" export m-fm --to savedmodel -O fm
says 'exists'
expect 0 "$T" export m-fm --to savedmodel -O fm --force
[ "$(ls -A fm)" = 1 ] || fail "left behind: $(ls -A fm)"

# What is there is verified; more than the tolerance.
expect 0 "$T" export m-two_tower --to savedmodel -O two_tower.v --check --verify retrieval.tsv
expect 1 "$T" export m-din --to savedmodel -O x --verify sequence.tsv --tolerance 0 --relative 0
says 'differ'
[ -z "$(ls -A x)" ] || fail 'a directory that failed is left'

# What a graph cannot say is named.
sed '/^fields = word,number,size/s/size/tags/' odd.ini >lists.ini
expect 0 "$T" -q train lists.ini -f m-lists -o train.epochs=1
expect 78 "$T" export m-lists --to savedmodel -O lists
says "'word_number': a cross of lists"

reader tensorflow
"$python" "$SRCDIR/tests/export/savedmodel.py" $jobs >tf.out 2>tf.err ||
	{ cat tf.err tf.out >&2; exit 1; }
cat tf.out
