#!/bin/sh
# One seed, one result: repeated runs and 1, 2, 3 threads give the same canonical
# dump, whatever the optimizers, batch norm and dropout; another seed another one.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 5000 1 >train.tsv
make_rows 500 2 >valid.tsv
make_spec s.ini

# try NAME OPTION...: the dumps of all thread counts under these options.
try() {
	name=$1
	shift
	for j in 1 1 2 3; do
		expect 0 "$T" train s.ini -f m --fresh -j $j --valid valid.tsv --epochs 2 -q "$@"
		dump m >got
		[ -f "want.$name" ] || cp got "want.$name"
		same "want.$name" got "$name: $j threads give another model"
	done
}

try plain
try norm -o dnn.batch_norm=yes -o dnn.dropout=0.3 -o train.slots=4 -o train.batch_size=999
try rows -o train.slots=8 -o embedding.optimizer=adam -o embedding.l2=0.01 -o train.clip_norm=0.5
try ftrl -o train.slots=3 -o embedding.optimizer=ftrl -o train.optimizer=adagrad
try readers -o train.slots=2 -o data.threads=3 -o data.row_group=5k -o data.shuffle_window=20k
try seed --seed 2
cmp -s want.plain want.seed && { echo 'another seed gives the same model' >&2; exit 1; }
exit 0
