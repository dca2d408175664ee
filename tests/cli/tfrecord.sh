#!/bin/sh
# tfrecord: check, train, eval, predict and inspect on records of tf.Example.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
TMP=$(mktemp -d) || exit 99
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 99

# {c1: "abc", ids: [3, -1], label: 1.0} with both CRCs, 76 bytes.
record() {
	printf '\074\000\000\000\000\000\000\000\310\267\243\122'
	printf '\012\072\012\015\012\002\143\061\022\007\012\005\012\003\141\142\143\012\026\012'
	printf '\003\151\144\163\022\017\032\015\012\013\003\377\377\377\377\377\377\377\377\377'
	printf '\001\012\021\012\005\154\141\142\145\154\022\010\022\006\012\004\000\000\200\077'
	printf '\116\376\312\035'
}
for i in 1 2 3 4 5 6 7 8; do record; done >a.rec
record | gzip >b.rec
cat >s.ini <<'END'
[model]
type = deepfm
[data]
train = a.rec,b.rec
format = tfrecord
label = label
[field c1]
buckets = 100
[field ids]
type = multi
buckets = 100
[train]
batch_size = 4
[embedding]
dim = 4
[dnn]
hidden = 8
END
expect 0 "$T" check s.ini --data=all
prints 'ids'
grep -q 'c1  *9  *0.0%  *1 ' out || { cat out; exit 1; }
expect 0 "$T" train s.ini -f m
expect 0 "$T" eval m a.rec b.rec
grep -q 'rows 9 ' out || { cat out; exit 1; }
expect 0 "$T" predict m a.rec b.rec --id c1 --format tsv
[ "$(wc -l <out)" -eq 9 ] && [ "$(grep -c '^abc' out)" -eq 9 ] || { cat out; exit 1; }
expect 0 "$T" inspect m --dump text

expect 65 "$T" init --from a.rec
says "is a TFRecord file"

# the same rows as text: the same model
printf 'c1,ids,label\n' >rows.csv
for i in 1 2 3 4 5 6 7 8 9; do echo 'abc,3|-1,1.0'; done >>rows.csv
expect 0 "$T" train s.ini -f text -o data.train=rows.csv -o data.format=csv -o data.shuffle=no
expect 0 "$T" train s.ini -f records -o data.shuffle=no
dump text | grep -v '^data' >one
dump records | grep -v '^data' >two
same one two 'records and text give different models'

# B087: what is wrong with which record of which file, and what the policies do
B087_data() {
	cp a.rec d.rec
	printf 'X' | dd of=d.rec bs=1 seek=100 conv=notrunc 2>/dev/null
}
B087_data
expect 65 "$T" train s.ini -f n -o data.train=a.rec,d.rec
says "d.rec' record 2 at byte 76: the CRC of the data is"
expect 3 "$T" train s.ini -f n -o data.train=a.rec,d.rec -o data.on_bad_row=skip
says "d.rec' record 2 at byte 76 skipped"
expect 65 "$T" predict m d.rec
says 'record 2 at byte 76'
expect 3 "$T" predict m d.rec --on-bad-row na
[ "$(wc -l <out)" -eq 8 ] && [ "$(grep -c '^NA' out)" -eq 1 ] || { cat out; exit 1; }
printf 'X' | dd of=d.rec bs=1 seek=78 conv=notrunc 2>/dev/null
expect 65 "$T" train s.ini -f n2 -o data.train=a.rec,d.rec -o data.on_bad_row=skip
says "d.rec' record 2 at byte 76: the CRC of the length is"
expect 65 "$T" check s.ini --data -o data.train=d.rec
says 'record 2 at byte 76'
head -c 300 a.rec >cut.rec
expect 3 "$T" eval m cut.rec
says "cut.rec' record 4 at byte 228 skipped: the file ends inside the record, after 72 of its 76 bytes"
printf '1,2,3\n' >text.rec
expect 65 "$T" train s.ini -f n2 -o data.train=text.rec
says 'record 1 at byte 0'

adult=$RECSYS_DATA/tfrecord/adult_train.tfrecord.gz
[ -f "$adult" ] || { echo "the rows of adult are not there"; exit 0; }
cat >adult.ini <<END
[model]
type = wide_deep
[data]
train = "$adult"
format = tfrecord
label = income
label_values = <=50K,>50K
[field age]
type = numeric
transform = bucketize
[field education_num]
type = numeric
[field hours_per_week]
type = numeric
transform = standardize
[field occupation]
[field relationship]
[field workclass]
[field education_occupation]
type = cross
fields = education,occupation
[field age_occupation]
type = cross
fields = age,occupation
[field education]
[embedding]
buckets = 1000
dim = 4
learning_rate = 0.2
[dnn]
hidden = 16
[train]
batch_size = 256
epochs = 3
learning_rate = 0.005
END
expect 0 "$T" train adult.ini -f adult
expect 0 "$T" eval adult "$adult" --json
auc=$(sed 's/.*"auc": *\([0-9.]*\).*/\1/' out)
awk -v auc="$auc" 'BEGIN { exit !(auc > 0.87 && auc < 1) }' || { cat out; exit 1; }
