#!/bin/sh
# dim, share, optimizer, learning_rate and l2 of a field are those of its exact table as they are
# of a hashed one: rows that begin as zeros, and buckets that nobody shares, give the same bits.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_past_rows 3000 1 >train.tsv
head -n 500 train.tsv >few.tsv
make_past_spec s.ini
run='-o model.type=dcn -o embedding.init_stddev=0 -o embedding.buckets=1M -o data.valid=few.tsv
	-o train.early_stop=0 --epochs 2 -j 2'

# both NAME OPTION...: trains it hashed and exact; scores of both in NAME.hashed, NAME.exact.
both() {
	name=$1
	shift
	for kind in hashed exact; do
		rm -rf m.$kind
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini $run -f m.$kind -o embedding.table=$kind \
			-o 'field user.buckets=1M' -o 'field item.buckets=1M' -o 'field past.buckets=1M' "$@"
		"$T" predict m.$kind few.tsv --format logit >"$name.$kind" 2>err ||
			{ cat err; exit 1; }
	done
	same "$name.hashed" "$name.exact" "$name: exact differs from hashed"
}

# has TABLE TEXT: what is told of a table of m.exact.
has() {
	"$T" inspect m.exact --tables --json | sed 's/{"name"/\n&/g' |
		grep "\"name\":\"$1\"" >line || fail "there is no table $1"
	grep -q "$2" line || { cat line; fail "$1: wanted $2"; }
}

both plain
has user '"dim":4,'
both dim -o 'field user.dim=3' -o 'field item.dim=9' -o 'field past.dim=9'
has user '"dim":3,'
has item '"dim":9,'

# One table for the values of both fields: those that only `past` has are in it.
"$T" inspect m.exact --feature past=p3 >shared
"$T" inspect m.exact --feature item=p3 >owner
sed 's/^past=/item=/' shared | cmp - owner || fail 'the table is not shared'
grep -q '^item   trained' owner || { cat owner; exit 1; }
"$T" inspect m.exact --tables --json | grep -q '"name":"past' && fail 'past has a table'

# An optimizer and a rate each; the figures are no others' by chance.
both optimizer -o 'field user.optimizer=adam' -o 'field item.optimizer=ftrl' \
	-o 'field past.optimizer=ftrl'
has user '"optimizer":"adam"'
has item '"optimizer":"ftrl"'
both rate -o 'field user.learning_rate=0.5' -o 'field item.learning_rate=0.01' \
	-o 'field past.learning_rate=0.01' -o train.schedule=cosine
both l2 -o 'field user.l2=0.1'
for name in dim optimizer rate l2; do
	cmp -s plain.exact $name.exact && fail "$name changes nothing"
done

# What differs of a shared table is refused.
expect 78 "$T" check s.ini -o embedding.table=exact -o 'field past.optimizer=sgd'
grep -q "optimizer: differs from that of 'item', whose table is shared" err ||
	{ cat err; exit 1; }
exit 0
