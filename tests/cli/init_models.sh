#!/bin/sh
# init --model: the spec it writes for each model passes check and trains, and
# knows histories, towers and crosses; rows that are no columns.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# A log with histories: the label follows whether the category was seen before.
make_histories() {
	awk -v n="$1" '
	function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		s = 7
		print "click,user,age,hist_items,hist_cates,item,cate,price"
		for (i = 0; i < n; i++) {
			items = cates = ""
			for (k = int(u() * 6); k > 0; k--) {
				j = int(u() * 60)
				sep = items == "" ? "" : "|"
				items = items sep "i" j
				cates = cates sep "c" j % 7
			}
			j = int(u() * 60)
			printf "%d,u%d,%d,%s,%s,i%d,c%d,%.2f\n", u() < (index(cates, "c" j % 7) ? .8 : .2),
				u() * 50, 18 + u() * 50, items, cates, j, j % 7, u() * 9
		}
	}'
}

# goes NAME OPTIONS...: from the sample to a model, in NAME.ini.
goes() {
	name=$1
	shift
	expect 0 "$T" init "$@"
	cp out "$name.ini"
	[ ! -s err ] || { cat err; exit 1; }
	expect 0 "$T" check "$name.ini" --strict
	expect 0 "$T" train "$name.ini" -f "m-$name" -o embedding.dim=4 -o train.batch_size=200
}

# has NAME LINE: the spec has a line that begins so.
has() {
	grep -q "^$2" "$1.ini" || { echo "no $2"; cat "$1.ini"; exit 1; }
}

make_histories 600 >log.csv
for model in fm wide_deep deepfm dcn din two_tower dlrm; do
	goes $model --from log.csv --model $model
	has $model "type = $model"
done
has fm 'type = multi'
grep -q '^\[dnn\]' fm.ini && { cat fm.ini; exit 1; }
has wide_deep '#type = cross'
has dcn '\[dcn\]'
has dlrm 'bottom = '
has din 'share = item .*whose ids'
has din 'share = cate .*whose ids'
[ "$(grep -c '^history = history ' din.ini)" = 2 ] || { cat din.ini; exit 1; }
has two_tower 'group = user'
has two_tower 'fields = user,age,hist_items,hist_cates'
has two_tower 'fields = item,cate,price'

# A log without names: who shares with whom is seen from the ids.
sed 1d log.csv | sed 's/[uic]\([0-9]\)/\1/g' >plain.csv
goes din-plain --from plain.csv --model din
[ "$(grep -c '^type = sequence' din-plain.ini)" = 2 ] || { cat din-plain.ini; exit 1; }

# No history, no din; nothing that is an item, no two_tower.
cut -d, -f1,2,8 log.csv >short.csv
expect 65 "$T" init --from short.csv --model din
says 'hint: the scripts'
expect 65 "$T" init --from short.csv --model two_tower

# Rows without columns.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d %d:1 %d:0.5\n", i % 3 ? 1 : -1, i % 7, 7 + i % 5 }' >a.svm
goes libsvm --from a.svm --format libsvm --model fm
has libsvm 'index_base = 0'
has libsvm 'label_values = -1,1'
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d 0:%d:1 1:%d:1 1:%d:1 2:20:%.2f\n", (i % 3 > 0), 1 + i % 7, 8 + i % 5, 14 + i % 3, i / 100 }' >a.ffm
goes libffm --from a.ffm --format libffm --model deepfm
has libffm 'index_base = 1'
[ "$(grep -c '^type = ' libffm.ini)" = 4 ] || { cat libffm.ini; exit 1; }
goes libfm --from a.svm --format libfm --model dcn
awk 'BEGIN { for (i = 0; i < 80; i++) { printf "%d", i; for (k = 0; k < 3 + i % 5; k++) printf " %d", (i * 7 + k * 11) % 50; print "" } }' >a.txt
goes lists --from a.txt --format lists --model two_tower
goes lists-din --from a.txt --format lists --model din
has lists-din 'negatives = 4'
expect 64 "$T" init --from a.svm --format libsvm --model two_tower
expect 64 "$T" init --from a.svm --format parquet
expect 65 "$T" init --from a.svm --format tfrecord
expect 65 "$T" init --from log.csv --format libsvm

# A log of positives of words alone: the names of its columns are seen, and no label is.
awk 'BEGIN { print "user_id,item_id,gender"; for (i = 0; i < 300; i++) printf "u%d,i%d,%s\n", i % 40, i * 7 % 23, i % 2 ? "M" : "F" }' >a.csv
goes positives --from a.csv --model two_tower
has positives 'header = yes'
has positives '#label = click'
has positives 'fields = user_id,gender'
expect 65 "$T" init --from a.txt --format csv --model deepfm

# Records name their features.
R=$RECSYS_DATA/tfrecord
for set in adult_train.tfrecord.gz fuxictr_taobaoad_train.tfrecord; do
	[ -f "$R/$set" ] || { echo "no $R/$set"; continue; }
	goes "$set" --from "$R/$set" --format tfrecord --rows 2000
	has "$set" 'format = tfrecord'
	expect 65 "$T" init --from "$R/$set"
	says 'hint: --format tfrecord'
done
exit 0
