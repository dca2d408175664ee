#!/bin/sh
# A run that is refused leaves no model directory that was not there, and no file in one that was.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 200 1 >train.tsv
make_spec s.ini
sed 's/^train = .*/train = absent.tsv/' s.ini >no_data.ini
: >empty.tsv

refused() { # CODE ARGUMENT...
	code=$1
	shift
	rm -rf new
	expect "$code" "$T" train "$@" -f new/deep/m
	[ ! -e new/deep/m ] || fail "$*: left $(find new)"
	mkdir -p new/m
	expect "$code" "$T" train "$@" -f new/m
	[ -z "$(ls -A new/m)" ] || fail "$*: left $(find new)"
	rm -rf new
}
refused 66 no_data.ini
refused 66 s.ini -i absent
refused 65 s.ini -d empty.tsv
refused 78 s.ini -o train.nothing=1
refused 4 s.ini -o train.learning_rate=1000000 -o embedding.learning_rate=1000000 \
	-o embedding.optimizer=sgd -o train.optimizer=sgd --epochs 20

# The last steps spoil the model, and no loss after them tells.
spoil='-o model.type=dcn -o train.optimizer=sgd -o train.learning_rate=1000000 -o train.batch_size=150'
# shellcheck disable=SC2086
refused 4 s.ini $spoil --epochs 1 --valid train.tsv
says 'scores of validation rows are not finite after step 2, learning_rate 1e+06'
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $spoil --epochs 1 -f spoilt
expect 0 "$T" eval spoilt train.tsv
says 'a score is not a finite number'
expect 0 "$T" predict spoilt train.tsv
says 'warning: 200 rows have a score that is not a finite number'

# Where LOCK cannot be, nobody waits for it to come.
mkdir m
ln -s absent/LOCK m/LOCK
expect 73 timeout -k 1 60 "$T" train s.ini -f m
grep -q "cannot create 'm/LOCK': No such file" err || fail "$(cat err)"
rm -r m

# A model that is there stays as it is, and so does its lock.
expect 0 "$T" train s.ini -f m
cp -r m before
expect 66 "$T" train no_data.ini -f m -i m
diff -r before m || fail 'the model changed'
exit 0
