#!/bin/sh
# recommend: the best items for users, what predict --top says of the same rows.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

"$T" -q synth --rows 1500 --layout retrieval --users 50 --items 20 -O two.tsv --spec-out two.ini
"$T" -q synth --rows 300 -O log.tsv --spec-out log.ini
expect 0 "$T" -q train two.ini -f m -o train.epochs=1 -o train.batch_size=256
expect 0 "$T" -q train log.ini -f other -o train.epochs=1

expect 0 "$T" predict m two.tsv --top 7 --id user
mv out want
for threads in 1 3; do
	expect 0 "$T" recommend m --users two.tsv --top 7 --id user -j $threads
	same want out 'recommend is not predict --top'
done
# Ten are given where nobody says how many; several files are one after the other.
head -n 3 two.tsv >few.tsv
cp few.tsv again.tsv
expect 0 "$T" recommend m --users few.tsv --users again.tsv
awk -F'\t' 'NF != 11 || $1 != NR { exit 1 } END { exit NR != 4 }' out || { cat out >&2; exit 1; }
# What a user has seen is passed over, and all that is left is given.
expect 0 "$T" recommend m --users two.tsv --top 20 --seen two.tsv --id user
awk -F'\t' 'NR == FNR { if (FNR > 1) seen[$3 "\t" $6] = 1; next }
	{ n += NF - 1; for (k = 2; k <= NF; k++) if (($1 "\t" $k) in seen) exit 1 }
	END { exit n == 0 }' two.tsv out || fail 'what was seen is given'
expect 0 "$T" recommend m --users few.tsv --top 2 --format json --id user
awk -F'"' '!/^\{"row":[12],"id":"u[0-9]*","items":\[\{"item":"i[0-9]*","score":-?[0-9.e-]*\},\{"item":/ \
	{ exit 1 } END { exit NR != 2 }' out || { cat out >&2; exit 1; }
# Columns of items have no say; a file is complete or absent; a stream will do.
awk -F'\t' -v OFS='\t' 'NR > 1 { $6 = $7 = "" } 1' two.tsv >bare.tsv
expect 0 "$T" recommend m --users bare.tsv --top 7 --id user -p file
same want file 'the item of a row changes what is recommended'
"$T" recommend m --users - --top 7 --id user <two.tsv >out || fail 'standard input'
same want out 'a stream has other items'

expect 64 "$T" recommend m
says '--users'
expect 64 "$T" recommend m two.tsv --users two.tsv
expect 64 "$T" recommend m --users two.tsv --format prob
expect 64 "$T" recommend other --users log.tsv
says 'has no towers'
expect 66 "$T" recommend m --users nothing.tsv
expect 64 "$T" recommend m --users two.tsv --top 0
exit 0
