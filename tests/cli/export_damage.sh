#!/bin/sh
# export --check: what is damaged, or of another model, is refused by name.
set -u
. "$SRCDIR/tests/export/export_data.sh"

make_logs log
# train NAME SPEC
train() {
	expect 0 "$T" -q train "$2" -f "$1" -o train.epochs=1 -o embedding.buckets=200 \
		-o dnn.hidden=16
}
train m log.ini

# export FORMAT OUT OPTION...
check() {
	form=$1 out=$2
	shift 2
	"$T" export m --to "$form" -O "$out" --check --rows 200 "$@"
}
# spoil FORMAT OUT FILE: a bit that changed, an end that is missing, nothing left, no file.
spoil() {
	cp "$3" whole
	size=$(wc -c <whole)
	for at in 0 7 $((size / 3)) $((size / 2)) $((size - 1)); do
		flip "$3" "$at"
		expect 65 check "$1" "$2"
		says "$3'"
		cp whole "$3"
	done
	head -c $((size - 1)) whole >"$3"
	expect 65 check "$1" "$2"
	says "$3'"
	: >"$3"
	expect 65 check "$1" "$2"
	says "$3'"
	rm "$3"
	expect 66 check "$1" "$2"
	says "$3'"
	cp whole "$3"
}

expect 0 "$T" export m --to onnx -O m.onnx --inline-bytes 0
expect 0 "$T" export m --to savedmodel -O constants
expect 0 "$T" export m --to savedmodel -O variables --inline-bytes 0
for file in m.onnx m.onnx.data m.onnx.inputs.json; do
	spoil onnx m.onnx $file
done
spoil savedmodel constants constants/1/saved_model.pb
for file in saved_model.pb inputs.json crc32c.txt variables/variables.index \
	variables/variables.data-00000-of-00001; do
	spoil savedmodel variables variables/1/$file
done
# --force replaces what an export wrote, nothing else.
: >constants/1/notes
expect 73 "$T" export m --to savedmodel -O constants --force
says "'constants/1' is not replaced: no export wrote the 'notes' in it"
rm constants/1/notes
expect 0 "$T" export m --to savedmodel -O constants --force
for form in onnx:m.onnx savedmodel:constants savedmodel:variables; do
	expect 0 check "${form%:*}" "${form#*:}"
done

# L075: a column has another name, or another type, or there are other columns.
other() { # MODEL TEXT
	for form in onnx:m.onnx savedmodel:constants savedmodel:variables; do
		expect 65 "$T" export "$1" --to "${form%:*}" -O "${form#*:}" --check
		says "$2"
	done
}
sed 's/^\[field device\]/[field thing]/' log.ini >renamed.ini
train renamed renamed.ini
other renamed "'device', which the model does not have"
sed '/^\[field device\]/,/^$/s/categorical/multi/' log.ini >list.ini
train list list.ini
other list "'device' has another type or shape"
awk '/^\[/ { skip = $0 == "[field device]" } !skip' log.ini >fewer.ini
train fewer fewer.ini
other fewer "'device'"

# L040: a second day of training reaches the export in all its parts.
parts() {
	expect 0 "$T" -q export m --to text -O "$1"
	cat "$1".dnn.*.txt >"$1.dense"
	cat "$1".user.txt >"$1.table"
	cat "$1".user.linear.txt >"$1.linear"
}
parts day1
"$T" -q synth --rows 1500 --users 50 --items 20 --seed 2 -O day2.tsv || fail 'no second day'
expect 0 "$T" -q train log.ini -f m -i m -d day2.tsv -o train.epochs=1 \
	-o embedding.buckets=200 -o dnn.hidden=16
parts day2
for part in dense table linear; do
	! cmp -s day1.$part day2.$part || fail "L040: the $part part is that of the first day"
done
# What was exported before is told from what the model is now; what is exported now fits.
expect 1 check onnx m.onnx
says "'m.onnx': "
expect 0 "$T" export m --to onnx -O m.onnx --force
expect 0 check onnx m.onnx
expect 66 check savedmodel constants
says 'constants/2'
expect 0 "$T" export m --to savedmodel -O constants
expect 0 check savedmodel constants
