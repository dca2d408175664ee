#!/bin/sh
# export --to npy, npz, safetensors, text, vectors: what is written is the model's, or nothing is.
set -u
. "$SRCDIR/tests/export/export_data.sh"
clean() { [ -z "$(ls -A | grep -e '^x' -e '^\.tmp')" ] || fail "$1: something is left"; }

"$T" -q synth --rows 600 --layout retrieval --users 50 --items 20 -O two.tsv --spec-out two.ini
make_rows 500 1 >train.tsv
make_spec s.ini
expect 0 "$T" -q train two.ini -f two -o train.epochs=1 -o train.batch_size=256
expect 0 "$T" -q train s.ini -f m -o train.epochs=1 -o dnn.batch_norm=yes

for form in npz safetensors; do
	expect 0 "$T" export m --to $form -O "m.$form"
	prints "m.$form: largest difference 0"
	expect 0 "$T" export m --to $form -O "m.$form" --check
	for type in f16 int8; do
		expect 0 "$T" export m --to $form -O "m-$type.$form" --dtype $type
		prints 'verified'
		expect 1 "$T" export m --to $form -O "m.$form" --dtype $type --check
	done
	expect 73 "$T" export m --to $form -O "m.$form"
	says 'exists'
	expect 0 "$T" export m --to $form -O "m.$form" --force --no-verify
	prints 'was not verified'
done
expect 0 "$T" export m --to npy -O m.npy --json
prints '"message_type":"verified"'
expect 0 "$T" export m --to text -O m.txt
for name in user item.linear dnn.0.weight; do
	[ -s "m.$name.npy" ] && [ -s "m.$name.txt" ] || fail "no files of $name"
done
[ ! -e m.npy ] && [ ! -e m.txt ] || fail 'a file of no array'
# The name of a row, then its numbers.
[ "$(sed -n 9p m.user.txt | wc -w)" = 5 ] && [ "$(sed -n 9p m.user.txt | cut -d' ' -f1)" = 7 ] ||
	fail 'a row of the text'

# Vectors with their names are those of predict.
expect 0 "$T" predict two --tower item
mv out items
for file in v.npy v2.fvecs v3.txt v4; do
	expect 0 "$T" export two --to vectors -O $file
	prints 'verified 640 numbers'
	expect 0 "$T" export two --to vectors -O $file --check
done
tr '\t' ' ' <items >blank
sed 1d v3.txt >vectors
same vectors blank 'the vectors are not those of predict'
cut -f1 items >names
same names v.ids.txt 'the names are not those of predict'
same names v2.ids.txt 'the names are not those of predict'
[ ! -e v3.ids.txt ] && cmp v.npy v4.npy || fail 'files of vectors'
expect 0 "$T" export two --to vectors -O q --dtype int8
[ -s q.npy ] && [ -s q.scale.npy ] && [ -s q.ids.txt ] || fail 'files of int8'
expect 0 "$T" export two --to vectors -O u.txt --users two.tsv --id user
expect 0 "$T" predict two two.tsv --tower user --id user
tr '\t' ' ' <out >blank
sed 1d u.txt >vectors
same vectors blank 'the vectors of users are not those of predict'

# A byte is another one when the file is read again: refused, and nothing is left.
damaged() {
	model=$1 form=$2 file=$3
	rm -f go go.reached
	RECSYS_TRAIN_FAILPOINT=export.before_proof=wait:go "$T" export $model --to $form -O x >out 2>err &
	pid=$!
	for i in $(seq 600); do
		[ ! -e go.reached ] || break
		sleep .1
	done
	hidden=$(echo .tmp-*-export/$file)
	[ -s "$hidden" ] || fail "$form: no $file is made"
	flip "$hidden" $(($(wc -c <"$hidden") / 2))
	: >go
	ends $pid
	[ $code != 0 ] || fail "$form: damage was not seen"
	says "'x"
	clean "$form"
}
damaged m npz x
damaged m safetensors x
damaged m npy x.user.npy
damaged m text x.user.txt
damaged two vectors x.ids.txt
damaged two vectors x.npy
# The same of what was there for long; what it replaces stays.
cp m.npz old.npz
cp m.npz hurt.npz
flip hurt.npz 2000
expect 65 "$T" export m --to npz -O hurt.npz --check
says "'hurt.npz'"
says 'damaged'
(trap '' XFSZ; ulimit -f 4; expect 74 "$T" export m --to npz -O old.npz --force) || exit 1
expect 0 "$T" export m --to npz -O old.npz --check
expect 1 "$T" export two --to npz -O old.npz --check
clean 'a full disk'

expect 64 "$T" export m --to npz -O x --dtype f8
says 'wanted f32, f16 or int8'
expect 64 "$T" export m --to text -O x --dtype f16
expect 64 "$T" export two --to vectors -O x.fvecs --dtype int8
expect 64 "$T" export m --to vectors -O x
says 'has no towers'
expect 64 "$T" export m --to npz -O x --verify train.tsv
expect 64 "$T" export m --to npz -O x --users train.tsv
expect 64 "$T" export two --to vectors -O x --id user
expect 64 "$T" export m --to onnx -O x --dtype f16
expect 73 "$T" export m --to npz -O no/such/x
clean 'refused'

# Other readers.
reader numpy safetensors
"$python" "$SRCDIR/tests/export/arrays_check.py" m || exit 1
exit 0
