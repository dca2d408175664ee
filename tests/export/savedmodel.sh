#!/bin/sh
# export --to savedmodel: TensorFlow itself computes what the model does.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
fail() { echo "savedmodel.sh: $1" >&2; exit 1; }

"$T" -q synth --rows 1500 --users 50 --items 20 -O log.tsv --spec-out log.ini
"$T" -q synth --rows 1500 --layout sequence --users 50 --items 20 -O seq.tsv --spec-out seq.ini
"$T" -q synth --rows 1500 --layout retrieval --users 50 --items 20 -O two.tsv --spec-out two.ini
"$T" -q synth --rows 1500 --layout criteo -O criteo.tsv --spec-out criteo.ini
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
try din seq.tsv seq :header $small
try two_tower two.tsv two :header $small
try odd odd.tsv odd :header

# A version that is there; one that is replaced; no parts are left.
expect 73 "$T" export m-fm --to savedmodel -O fm
says 'exists'
expect 0 "$T" export m-fm --to savedmodel -O fm --force
[ "$(ls -A fm)" = 1 ] || fail "left behind: $(ls -A fm)"

# What is there is verified; more than the tolerance, and bytes that changed.
expect 0 "$T" export m-two_tower --to savedmodel -O two_tower.v --check --verify two.tsv
expect 1 "$T" export m-din --to savedmodel -O x --verify seq.tsv --tolerance 0 --relative 0
says 'differ'
[ -z "$(ls -A x)" ] || fail 'a directory that failed is left'
expect 65 "$T" export m-deepfm --to savedmodel -O din --check --verify log.tsv
cp -r din.v damaged
printf x | dd of=damaged/1/variables/variables.data-00000-of-00001 bs=1 seek=99 conv=notrunc 2>err
expect 65 "$T" export m-din --to savedmodel -O damaged --check --verify seq.tsv
says 'checksum'

# What a graph cannot say is named.
sed '/^fields = word,number,size/s/size/tags/' odd.ini >lists.ini
expect 0 "$T" -q train lists.ini -f m-lists -o train.epochs=1
expect 78 "$T" export m-lists --to savedmodel -O lists
says "'word_number': a cross of lists"

python=
for p in ${RECSYS_READERS:+"$RECSYS_READERS/bin/python"} "$BUILDDIR/venv/bin/python"; do
	[ -x "$p" ] && "$p" -c 'import importlib.util as u
raise SystemExit(u.find_spec("tensorflow") is None)' && python=$p && break
done
[ -n "$python" ] || { echo 'skipped: TensorFlow is not installed (./run-tests --readers)'; exit 77; }
"$python" "$SRCDIR/tests/export/savedmodel.py" $jobs >tf.out 2>tf.err ||
	{ cat tf.err tf.out >&2; exit 1; }
cat tf.out
