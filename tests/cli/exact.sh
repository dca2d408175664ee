#!/bin/sh
# table = exact: grows with the data, the same on any number of threads, stopped or not.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 4000 1 >train.tsv
make_rows 1000 2 >valid.tsv
make_spec s.ini
exact='-o embedding.table=exact -o data.valid=valid.tsv -o train.epochs=2 -o train.slots=4'

# shellcheck disable=SC2086
for threads in 1 2 3; do
	expect 0 "$T" train s.ini $exact -f m$threads -j $threads
	for file in m$threads/v000002/*.bin; do
		cmp "$file" "m1/v000002/${file##*/}" || { echo "threads $threads"; exit 1; }
	done
done

# Ids that training has not seen have no row, are counted, and get none.
sed 's/\tu/\tnew/' valid.tsv >unknown.tsv
cp -r m1 before
expect 0 "$T" eval m1 unknown.tsv
grep -q 'unseen ids [1-9]' out err || { cat out err; exit 1; }
expect 0 "$T" predict m1 unknown.tsv
cmp m1/v000002/table-user.0-of-1.bin before/v000002/table-user.0-of-1.bin || exit 1

# B040: A then B is A and B at once, with every kind of state.
halves 2000
for optimizer in adagrad adam rowwise_adagrad ftrl sgd; do
	keep="-o embedding.table=exact -o data.shuffle=no -o embedding.optimizer=$optimizer"
	rm -rf whole half
	# shellcheck disable=SC2086
	{
		expect 0 "$T" train s.ini $keep -f whole
		expect 0 "$T" train s.ini $keep -f half -d a.tsv
		expect 0 "$T" train s.ini $keep -f half -i half -d b.tsv
	}
	for file in whole/v000001/table*.bin; do
		cmp "$file" "half/v000002/${file##*/}" || { echo "B040: $optimizer"; exit 1; }
	done
done

exit 0
