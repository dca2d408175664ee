#!/bin/sh
# init: the spec it writes passes check and trains.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# goes NAME FILE: from the sample to a model.
goes() {
	expect 0 "$T" init --from "$2" --rows 3000
	cp out "$1.ini"
	[ ! -s err ] || { cat err; exit 1; }
	expect 0 "$T" check "$1.ini" --strict
	expect 0 "$T" train "$1.ini" -f "m-$1" -o dnn.hidden=8 -o embedding.dim=2 \
		-o train.batch_size=500
}

make_rows 2000 1 >plain.tsv
goes plain plain.tsv
grep -q '^label = 1 .*# ' plain.ini || exit 1
{ echo 'click,user,item,price'; tr '\t' ',' <plain.tsv; } >named.csv
goes named named.csv
for line in 'format = csv' 'header = yes' 'label = click' '[field user]' 'column = price'; do
	grep -qF "$line" named.ini || { echo "no $line"; cat named.ini; exit 1; }
done
gzip -c named.csv >named.csv.gz
goes gzip named.csv.gz
awk -F'\t' '{ print ($1 == 1 ? "yes" : "no") ";" $2 ";x|" $3 ";" $4 }' plain.tsv >words.csv
goes words words.csv
grep -q '^label_values = no,yes' words.ini || { cat words.ini; exit 1; }

# A blank behind every comma, as in the census data.
sed 's/;/, /g' words.csv >blanks.csv
goes blanks blanks.csv
for line in 'trim = yes' 'label_values = no,yes'; do
	grep -qF "$line" blanks.ini || { echo "no $line"; cat blanks.ini; exit 1; }
done

for data in criteo_8k_raw/dev.tsv avazu_9k_raw/dev.csv adult/adult.data.gz; do
	[ -f "$RECSYS_DATA/$data" ] || continue
	goes "$(echo "$data" | tr /. --)" "$RECSYS_DATA/$data"
done

# -O: a new file, never over one without --force, nothing in a dry run.
expect 0 "$T" init --from plain.tsv -O new.ini
[ ! -s out ] && [ -s new.ini ] || exit 1
cp new.ini kept.ini
expect 73 "$T" init --from named.csv -O new.ini
says "hint: --force replaces it"
same new.ini kept.ini 'init changed a file it refused to replace'
expect 0 "$T" init --from named.csv -O new.ini --force -n
same new.ini kept.ini 'a dry run wrote'
expect 0 "$T" init --from named.csv -O new.ini --force
! cmp -s new.ini kept.ini || exit 1
expect 73 "$T" init --from plain.tsv -O none/new.ini
mkfifo pipe
expect 73 "$T" init --from plain.tsv -O pipe --force
[ -p pipe ] || { echo 'a pipe was replaced' >&2; exit 1; }
mkdir there
expect 0 "$T" init --from plain.tsv -O there/new.ini
expect 0 "$T" check there/new.ini --data

expect 0 "$T" init --model fm --from - <plain.tsv
prints 'type = fm'
expect 64 "$T" init
expect 64 "$T" init --from plain.tsv --model deepfn
says "hint: did you mean 'deepfm'?"
expect 64 "$T" init --from plain.tsv --rows 0
expect 66 "$T" init --from none.tsv
: >empty.tsv
expect 65 "$T" init --from empty.tsv
printf 'one\ntwo words\n3\n' >odd.txt
expect 65 "$T" init --from odd.txt
exit 0
