#!/bin/sh
# inspect: the dump is exact and complete, the summary readable.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m --valid valid.tsv
expect 0 "$T" inspect m
prints 'deepfm   step 10   seed 1'
prints 'best epoch 1 (valid auc 0.'
prints 'user '
prints 'user.linear '

# B019: threads make no difference, B021: the seed does.
dump m >want
for threads in 1 2 3; do
	expect 0 "$T" train s.ini -f "j$threads" --valid valid.tsv -j $threads
	dump "j$threads" >got
	same want got "B019: $threads threads give another model"
done
expect 0 "$T" train s.ini -f seed2 --valid valid.tsv --seed 2
dump seed2 >got
cmp -s want got && { echo 'B021: another seed gives the same model' >&2; exit 1; }

# Rows that were never touched count, too.
grep '^untouched user ' want >one
grep '^untouched user ' got >two
cmp -s one two && { echo 'untouched rows of another seed look the same' >&2; exit 1; }

# Every dense value is there, with state.
head -n 1 want | grep -qx 'recsys-train dump 1' || exit 1
grep -q '^param dnn\.' want || exit 1
awk '$1 == "param" { n += 3 * $3; next }
	/^table / { exit } n > 0 { seen++ }
	END { exit !(n == seen && n > 0) }' want || { echo 'dense rows are missing' >&2; exit 1; }
awk '$1 == "table" { want = $(NF); name = $2; got = 0; next }
	$1 == "untouched" { if (got != want) exit 1; next }
	name != "" && $1 == name { got++ }' want || { echo 'touched rows are missing' >&2; exit 1; }

expect 0 "$T" inspect m --dump hexfloat
grep -q '^user [0-9]* -*0x' out || exit 1
[ "$(wc -l <out)" -eq "$(wc -l <want)" ] || exit 1
expect 0 "$T" inspect m --dump json
[ "$(wc -l <out)" -eq 1 ] && grep -q '^{"step":10,.*"tables":\[{"name":"' out || exit 1
expect 64 "$T" inspect m --dump xml

expect 0 "$T" inspect m --dump text --field user
grep -q '^table user.linear ' out || exit 1
grep -qE '^(param|table item)' out && exit 1
expect 64 "$T" inspect m --field usr
expect 0 "$T" inspect m --params
prints 'dnn.'
expect 0 "$T" inspect m --tables
prints 'touched'
expect 0 "$T" inspect m --json
prints '"type":"deepfm"'
prints '"step":10'

# The spec in the model is whole: train on it gives the model again.
expect 0 "$T" inspect m --spec
cp out again.ini
expect 0 "$T" train again.ini -f again --valid valid.tsv
dump again >got
same want got 'the spec of a model does not make the model again'

# What differs.
expect 0 "$T" inspect m --diff j1
grep -v 'changed [a-z]* 0 (0.0%)' out && exit 1
expect 0 "$T" inspect m --diff seed2
grep -q '^table user .*changed rows 20[01] (100.0%)   largest step' out || { cat out >&2; exit 1; }
expect 0 "$T" inspect m --diff seed2 --json
prints '"difference":"changed"'

expect 0 "$T" inspect "m/$(cat m/CURRENT)"
expect 66 "$T" inspect nowhere
mkdir nothing
expect 66 "$T" inspect nothing
expect 64 "$T" inspect
exit 0
