#!/bin/sh
# train -i: with state, without, and what it refuses.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >a.tsv
make_rows 1000 2 >b.tsv
cat a.tsv b.tsv >ab.tsv
make_spec s.ini
O='-o data.shuffle=no'

# B040: A then B is A and B, to the bit, with every kind of state.
for optimizer in adagrad adam rowwise_adagrad ftrl sgd; do
	S="$O -o embedding.optimizer=$optimizer"
	rm -rf ab a
	expect 0 "$T" train s.ini -j 1 $S -f ab -d ab.tsv
	expect 0 "$T" train s.ini -j 1 $S -f a -d a.tsv
	expect 0 "$T" train s.ini -j 1 $S -f a -i a -d b.tsv
	dump ab >one; dump a >two
	same one two "B040: $optimizer: A then B is not A+B"
done

# B043: the counters of the table are those of this run.
rm -rf a
expect 0 "$T" train s.ini $O -f a -d a.tsv
expect 0 "$T" train s.ini $O -f a2 -i a -d b.tsv --json -P 100
grep '"message_type":"progress"' out | head -n 1 | grep -q '"row":100,.*"step":11,' || { cat out >&2; exit 1; }

# State can be left behind, and that makes a difference.
expect 0 "$T" train s.ini $O -f a3 -i a -d b.tsv --reset-optimizer
expect 0 "$T" train s.ini $O -f a4 -i a -d b.tsv --reset-steps
dump a2 >one; dump a3 >two
cmp -s one two && { echo '--reset-optimizer changed nothing' >&2; exit 1; }

# B051: a new field or another shape is refused by name.
{ cat s.ini; printf '[field extra]\ncolumn = 2\nbuckets = 10\n'; } >more.ini
expect 78 "$T" train more.ini -f a5 -i a -d b.tsv
says "'extra'"
expect 65 "$T" train s.ini -f a6 -i a -d b.tsv -o 'field user.buckets=300'
says "'user'"
expect 78 "$T" train s.ini -f a7 -i a -d b.tsv -o dnn.hidden=8,8
says 'dnn.'
expect 66 "$T" train s.ini -f a8 -i nowhere -d b.tsv
exit 0
