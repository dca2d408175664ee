#!/bin/sh
# rounds: the vector of a value is the sum of several rows of a hashed table, in training and
# wherever it is read; rounds = 1 is what there was.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_past_rows 3000 1 >train.tsv
head -n 500 train.tsv >few.tsv
make_past_spec s.ini
run='-o train.slots=4 -o train.early_stop=0 --epochs 2 -o data.valid=few.tsv'

# shellcheck disable=SC2086
{
	expect 0 "$T" train s.ini $run -f none
	expect 0 "$T" train s.ini $run -f one -o embedding.rounds=1
	for threads in 1 2 3; do
		expect 0 "$T" train s.ini $run -f m$threads -o embedding.rounds=3 -j $threads
	done
	expect 0 "$T" train s.ini $run -f user -o 'field user.rounds=3'
	expect 0 "$T" train s.ini $run -f root -o embedding.rounds=2 -o embedding.round_scale=sqrt
	expect 0 "$T" train s.ini $run -f two -o embedding.rounds=2 -o embedding.storage=bf16
	for pooling in max sqrtn sum last; do
		expect 0 "$T" train s.ini $run -f $pooling -o embedding.rounds=2 \
			-o "field past.combiner=$pooling"
	done
}
for file in none/v000002/*.bin; do
	cmp "$file" "one/v000002/${file##*/}" || fail 'rounds = 1 is not what there was'
done
for file in m1/v000002/*.bin; do
	cmp "$file" "m2/v000002/${file##*/}" && cmp "$file" "m3/v000002/${file##*/}" ||
		fail 'threads change the model'
done
cmp m1/v000002/table-user.0-of-1.bin none/v000002/table-user.0-of-1.bin >same &&
	fail 'rounds change nothing'

# A then B is A and B at once.
halves 1500
keep='-o embedding.rounds=2 -o data.shuffle=no -o embedding.optimizer=adam'
# shellcheck disable=SC2086
{
	expect 0 "$T" train s.ini $keep -f whole
	expect 0 "$T" train s.ini $keep -f half -d a.tsv
	expect 0 "$T" train s.ini $keep -f half -i half -d b.tsv
}
for file in whole/v000001/table*.bin; do
	cmp "$file" "half/v000002/${file##*/}" || fail 'stopped and gone on'
done

# Rows that are not all in memory.
mkdir files
for where in 0 1M; do
	expect 0 "$T" train s.ini -f "resident$where" -o embedding.rounds=2 -o embedding.dim=16 \
		-o 'field user.buckets=100k' -o "embedding.resident=$where" -o embedding.spill=files \
		-o train.epochs=1
	dump "resident$where" >"dump$where"
done
same dump0 dump1M 'a table that is larger than its memory'

# Every reader has the same sum: ONNX is proved by export, audit adds up to the logit.
for m in m1 user root two max sqrtn sum last; do
	expect 0 "$T" export $m --to onnx -O $m.onnx --force
	grep -q '^verified 500 rows' out || { cat out; fail "$m: onnx"; }
	expect 0 "$T" export $m --to npz -O $m.npz
	expect 0 "$T" eval $m few.tsv --json
	grep -q '"unseen":0,' out || { cat out; fail "$m: unseen"; }
done
"$T" audit m1 few.tsv --all --json | sed 's/[{,]/\n/g' | awk -F: '
	function check() { if (!(d < 1e-4 && d > -1e-4)) { print "row", rows, "differs by", d; bad = 1 } }
	/^"row":/ { check(); rows++; d = 0; fields = 0 }
	/^"fields":/ { fields = 1 }
	/^"logit":/ { d -= $2 }
	/^"(bias|linear|pairs)":/ || /^"deep":/ && !fields { d += $2 }
	END { check(); if (rows != 500) { print rows, "rows"; bad = 1 } exit bad }' ||
	fail 'the parts of audit do not add up'

# A format that cannot say it refuses by name.
expect 78 "$T" export m1 --to savedmodel -O saved
grep -q "field 'user': a table of several rounds" err || { cat err; exit 1; }
grep -q 'hint: export --to onnx' err || { cat err; exit 1; }
[ -e saved ] && fail 'a refused export leaves a directory'
mkdir saved
expect 78 "$T" export m1 --to savedmodel -O saved
[ -d saved ] || fail 'a refused export removes a directory'

# The rows of a value; that of "missing" is one.
expect 0 "$T" inspect m1 --feature user=u3
grep -Eq '^user=u3   bucket [0-9]+ \+ [0-9]+ \+ [0-9]+ of 200$' out || { cat out; exit 1; }
[ "$(grep -c '^user   [0-9]* *trained' out)" = 3 ] || { cat out; exit 1; }
[ "$(grep -c '^user.linear   [0-9]* *trained' out)" = 3 ] || { cat out; exit 1; }
expect 0 "$T" inspect m1 --feature user=
grep -q 'bucket 200 of 200, that of missing values' out || { cat out; exit 1; }
[ "$(grep -c '^user  ' out)" = 1 ] || { cat out; exit 1; }

# Collisions: of whole values, and of rows; what the report counts is what training met.
expect 0 "$T" train s.ini -f small -o embedding.rounds=2 -o 'field user.buckets=12' -d few.tsv
expect 0 "$T" inspect small --collisions few.tsv --json
sed 's/{"table"/\n&/g' out | grep '"table":"user"' >report
expect 0 "$T" inspect small --names few.tsv --json
cut -f 2 few.tsv | sort -u | grep -c . >values
grep -q "\"buckets\":12,\"values\":$(cat values),.*\"rounds\":2," report || { cat report; exit 1; }
expect 0 "$T" inspect small --tables --json
touched=$(sed 's/{"name"/\n&/g' out | sed -n '/"name":"user"/s/.*"touched":\([0-9]*\).*/\1/p')
occupied=$(sed 's/.*"occupied":\([0-9]*\).*/\1/' report)
[ "$touched" = $((occupied + 1)) ] || { cat report; fail "$touched rows trained"; }
# 50 values of 78 pairs of 12 rows: some are one; the pairs are those of the rows shown.
cut -f 2 few.tsv | sort -u | grep . | while read -r value; do
	"$T" inspect small --feature "user=$value" | sed -n 's/.*bucket \([0-9]*\) + \([0-9]*\) of.*/\1 \2/p'
done | awk '{ print $1 < $2 ? $1 " " $2 : $2 " " $1 }' | sort >pairs
n=$(($(wc -l <pairs) - $(uniq pairs | wc -l)))
grep -q "\"collisions\":$n," report || { cat report; fail "wanted $n collisions"; }
[ "$n" -gt 0 ] || fail 'no two values collide'

# In one bucket all values are one, in any number of rounds.
for rounds in 1 2 3; do
	expect 0 "$T" train s.ini -f one$rounds -o embedding.rounds=$rounds -o 'field user.buckets=1' \
		-d few.tsv
	expect 0 "$T" inspect one$rounds --collisions few.tsv --field user --json
	prints "\"occupied\":1,\"collisions\":$(($(cat values) - 1)),\"expected\":$(($(cat values) - 1)),"
	prints '"expected_occupied":1}'
done

# Rules of the spec.
expect 78 "$T" train s.ini -f user -i user -o 'field user.rounds=2'
grep -q "field 'user': rounds is 3 in the model saved, 2 in the spec" err || { cat err; exit 1; }
expect 78 "$T" train s.ini -f root -i root -o embedding.rounds=2
grep -q 'embedding.round_scale is sqrt in the model saved, sum in the spec' err || { cat err; exit 1; }
expect 78 "$T" check s.ini -o embedding.rounds=9
expect 0 "$T" check s.ini -o embedding.table=exact -o embedding.rounds=2
grep -q 'rounds: has no effect without table = hashed' err || { cat err; exit 1; }
expect 0 "$T" check s.ini -o 'field user.table=exact' -o 'field user.rounds=2'
grep -q '\[field user\] rounds: has no effect' err || { cat err; exit 1; }
expect 78 "$T" check s.ini -o 'field past.rounds=2'
exit 0
