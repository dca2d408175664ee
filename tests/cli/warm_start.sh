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

# Another optimizer of the dense weights does not take what the model's left for its own: it says so
# and goes on as --reset-optimizer does.
for optimizer in sgd momentum adagrad; do
	set -- train s.ini $O -j 1 -i a -d b.tsv -o "train.optimizer=$optimizer" -o embedding.learning_rate=1e-9
	rm -rf a9 a10
	expect 0 "$T" "$@" -f a9
	says "train.optimizer = $optimizer, but 'a/v000001' was trained with adam"
	expect 0 "$T" "$@" -f a10 --reset-optimizer
	grep -q 'train.optimizer' err && fail "a reset optimizer is warned of: $(cat err)"
	for m in a9 a10; do
		dump $m >one
		grep '^param' one >$m.param || fail 'no dense weights'
	done
	same a9.param a10.param "$optimizer took what adam had left"
done
expect 0 "$T" train s.ini $O -f a9 -i a -d b.tsv -o train.optimizer=adamw
grep -q 'train.optimizer' err && fail "adamw has the state of adam: $(cat err)"

# B051: a new field or another shape is refused by name, with the way out.
{ cat s.ini; printf '[field extra]\ncolumn = 2\nbuckets = 10\n'; } >more.ini
expect 78 "$T" train more.ini -f a5 -i a -d b.tsv
says "'extra'"
says '--allow-new-fields'
for key in 'field user.buckets=300' embedding.dim=5 'field user.type=multi' \
	'field item.optimizer=adam' 'field item.share=user' embedding.optimizer=sgd; do
	expect 78 "$T" train s.ini -f a6 -i a -d b.tsv -o "$key"
	says "field '"
	says '--fresh'
done
says 'keep optimizer = adagrad'
expect 0 "$T" train s.ini -f a6 -i a -d b.tsv -o embedding.optimizer=sgd --reset-optimizer
expect 78 "$T" train s.ini -f a7 -i a -d b.tsv -o dnn.hidden=8,8
says 'dnn.'
says '--fresh'
expect 66 "$T" train s.ini -f a8 -i nowhere -d b.tsv

# table DIR FIELD: what a model has of a field.
table() { "$T" inspect "$1" --dump text --field "$2"; }

# Or starts fresh, while all others go on.
# B049: what is and what is not restored is told.
expect 0 "$T" train s.ini -v -f same -i a -d b.tsv
says "warm start from 'a' v000001: step 10, 4 tables"
expect 0 "$T" train more.ini -v -f more -i a -d b.tsv --allow-new-fields
says "field 'extra' is new: it starts fresh"
says '4 of 6 tables'
# Steps at a rate of nearly 0 leave the weights as they were.
none="-o train.learning_rate=1e-30 -o embedding.learning_rate=1e-30 -o linear.learning_rate=1e-30"
head -n 100 b.tsv >step.tsv
expect 0 "$T" train more.ini -f still -i a -d step.tsv --allow-new-fields $none
weights() { "$T" inspect "$1" --dump text --field "$2" | grep "^$2" | cut -d '|' -f 1; }
for f in user item; do
	weights a $f >want
	weights still $f | awk 'NR == FNR { want[$0]; next } $0 in want { n++ }
		END { exit n != length(want) || n < 20 }' want - || {
		echo "rows of $f are not those of the model gone on from" >&2; exit 1; }
done

# A removed field stays in the versions, is told of, and comes back.
awk '/^\[/ { skip = $0 == "[field item]" } !skip' s.ini >less.ini
table a item >want
expect 0 "$T" train less.ini -f less -i a -d b.tsv
says "field 'item' is not in the spec"
[ -f less/v000001/table-item.0-of-1.bin ] || { echo 'the removed table is gone' >&2; exit 1; }
expect 0 "$T" train less.ini -f less -i less -d a.tsv
table less item >have
same want have 'a removed field was touched'
expect 78 "$T" train s.ini -f back -i less -d b.tsv
head -n 20 b.tsv >few.tsv
expect 0 "$T" train s.ini -f back -i less -d few.tsv --allow-new-fields
says "field 'item' is new"
weights back item >have
weights less item | awk 'NR == FNR { have[$0]; next } $0 in have { n++ } END { exit n < 3 }' have - || {
	echo 'the field that came back has lost its rows' >&2; exit 1; }
exit 0
