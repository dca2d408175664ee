#!/bin/sh
# inspect and audit of exact tables, and settings that a field has of its own.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m -o embedding.table=exact
n=$(cut -f 2 train.tsv | sort -u | wc -l)

# Every value has a row, and no other has.
expect 0 "$T" inspect m --tables --field user
grep -qE "^user  *$n  *4 .* $n  *100.0%" out || { cat out >&2; exit 1; }
expect 0 "$T" inspect m --dump text --field user
grep -q "^table user rows $n dim 4 optimizer adagrad slots 4 touched $n\$" out || { cat out >&2; exit 1; }
[ "$(grep -c '^user [0-9]' out)" -eq "$n" ] || exit 1
grep '^user [0-9]' out | awk '{ print $2 }' >ids
expect 0 "$T" inspect m --feature user=u3 --json
id=$(sed 's/.*"ids":\[{"id":\([0-9]*\),.*/\1/' out)
grep -qx "$id" ids || { echo "id $id is not in the dump" >&2; exit 1; }
expect 0 "$T" inspect m --feature user=nobody
prints 'user   has no row for it'

# How often a value was trained, and when, are those of the data.
times=$(cut -f 2 train.tsv | grep -cx u3)
expect 0 "$T" inspect m --feature user=u3
prints "user   trained $times times"
expect 0 "$T" inspect m --tables --field user --json
mean=$(awk -v n="$n" 'BEGIN { print 1000 / n }')
sed 's/.*"name":"user",//; s/"name".*//' out | tr ',' '\n' | awk -F : -v want="$mean" '
	/mean_trained/ { d = $2 - want; far = d > 1e-3 || d < -1e-3; seen = 1 }
	/newest/ { newest = $2 } /oldest/ { oldest = $2 }
	END { exit !(seen && !far && newest == 10 && oldest < 10 && oldest >= 1) }' || { cat out >&2; exit 1; }
expect 0 "$T" inspect m --tables
prints 'user   a row was trained'
expect 0 "$T" inspect m --names --field user
prints "user   names known: $n of $n trained buckets (100%)"
grep -q "^user	$id	u3\$" out || { cat out >&2; exit 1; }
expect 0 "$T" inspect m --collisions
grep -q '^user' out && exit 1

# One row more, others changed.
printf '1\tnobody\ti1\t0.5\n' | cat train.tsv - >more.tsv
expect 0 "$T" train s.ini -d more.tsv -f more -o embedding.table=exact
expect 0 "$T" inspect more --diff m
grep -q "^table user  *changed rows.*(row [0-9]*)" out || { cat out >&2; exit 1; }
expect 0 "$T" inspect m --diff m
grep '^table' out | grep -v 'changed rows 0 ' && exit 1

# A score of rows that are there and of one that is not.
head -n 2 train.tsv >few.tsv
sed -n 3p train.tsv | sed 's/	u[0-9]*	/	nobody	/' >>few.tsv
expect 0 "$T" predict m few.tsv --format logit
mv out logits
expect 0 "$T" audit m few.tsv --all --json
sed 's/.*"logit":\([-0-9.e]*\),"bias":\([-0-9.e]*\),"deep":\([-0-9.e]*\),.*/\2 \3/' out >sums
grep -o '"linear":[-0-9.e]*,"pairs":[-0-9.e]*' out | tr -c '0-9.e\n-' ' ' | awk '
	{ s += $(NF - 1) + $NF } NR % 3 == 0 { print s; s = 0 }' >parts
paste logits sums parts | awk '{ d = $1 - $2 - $3 - $4; if (!(d < 1e-5 && d > -1e-5)) bad = 1 }
	END { exit bad || NR != 3 }' || { paste logits sums parts >&2; exit 1; }
expect 0 "$T" audit m few.tsv --row 3
grep -q 'user .*nobody .*never trained' out || { cat out >&2; exit 1; }

# dim, optimizer, learning rate and a shared table of one field alone.
cat >own.ini <<'END'
[model]
type = dcn
[data]
train = train.tsv
format = tsv
label = 1
[field user]
column = 2
buckets = 200
dim = 3
optimizer = adam
learning_rate = 0.5
[field item]
column = 3
buckets = 100
[field again]
column = 3
share = item
[embedding]
dim = 6
optimizer = adagrad
learning_rate = 1e-6
[train]
batch_size = 100
END
expect 0 "$T" train own.ini -f own
expect 0 "$T" inspect own --tables
grep -qE '^user  *201  *3  *adam ' out || { cat out >&2; exit 1; }
grep -qE '^item  *101  *6  *adagrad ' out || { cat out >&2; exit 1; }
grep -q '^again' out && { echo 'a shared table is there twice' >&2; exit 1; }
expect 0 "$T" train own.ini -f start -o train.epochs=1 -o 'field user.learning_rate=1e-6'
expect 0 "$T" inspect own --diff start
awk '/^table user/ { for (i = 1; i < NF; i++) if ($i == "step") user = $(i + 1) }
	/^table item/ { for (i = 1; i < NF; i++) if ($i == "step") item = $(i + 1) }
	END { exit !(user > 0.3 && item < 1e-3) }' out || { cat out >&2; exit 1; }
item=$(sed -n 1p train.tsv | cut -f 3)
expect 0 "$T" inspect own --feature "again=$item" --json
sed 's/.*"ids"//' out >shared
expect 0 "$T" inspect own --feature "item=$item" --json
sed 's/.*"ids"//' out | cmp - shared || { echo 'a shared field has other rows' >&2; exit 1; }
