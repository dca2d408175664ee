#!/bin/sh
# embedding.decay_every counts the steps of the model's life: in one run, in two, and in one
# that was killed.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1100 1 >a.tsv
make_rows 1200 2 >b.tsv
cat a.tsv b.tsv >ab.tsv
make_spec s.ini
O='-o data.shuffle=no -o embedding.decay_every=4 -o embedding.decay=0.5'

for optimizer in adagrad rowwise_adagrad; do
	S="$O -o embedding.optimizer=$optimizer"
	rm -rf ab a
	expect 0 "$T" train s.ini $S -f ab -d ab.tsv
	expect 0 "$T" train s.ini $S -f a -d a.tsv
	expect 0 "$T" train s.ini $S -f a -i a -d b.tsv
	dump ab >one; dump a >two
	same one two "$optimizer: A then B is not A+B"
	expect 0 "$T" train s.ini $S -f never$optimizer -d ab.tsv -o embedding.decay_every=0
	dump never$optimizer >two
	cmp -s one two && { echo "$optimizer: nothing decays" >&2; exit 1; }
done

# Killed and resumed, with several threads.
S="$O -j 2 --epochs 12 -o train.checkpoint_every=0.02 -o train.slots=4"
expect 0 "$T" train s.ini $S -f whole -d ab.tsv
dump whole >want
resume=
for kill in 1 2 3 no; do
	"$T" train s.ini $S -f killed -d ab.tsv $resume 2>err & pid=$!
	resume=--resume
	[ $kill = no ] || { sleep 0.1; kill -9 $pid 2>/dev/null; }
	ends $pid
	[ $code = 0 ] && break
	[ $code = 137 ] || { echo "exit $code" >&2; cat err >&2; exit 1; }
done
[ $code = 0 ] || { "$T" train s.ini $S -f killed -d ab.tsv --resume || exit 1; }
dump killed >have
same want have 'killed: another model'

expect 78 "$T" train s.ini -f none -o embedding.decay=0
says 'above 0'
exit 0
