#!/bin/sh
# inspect: values, their buckets and their rows; names and collisions of the data.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >a.tsv
make_rows 1000 5 | sed 's/	u/	v/' >b.tsv
make_spec s.ini
expect 0 "$T" train s.ini -d a.tsv -d b.tsv -f m -o 'field user.buckets=60'

# B078: the rows of a value are those that the dump has under its bucket.
expect 0 "$T" inspect m --feature user=u3 --json
bucket=$(sed 's/.*"ids":\[{"id":\([0-9]*\),.*/\1/' out)
grep -q '"missing":false' out || exit 1
for table in user user.linear; do
	"$T" inspect m --dump text --field user | grep -q "^$table $bucket " || { echo "no row $bucket of $table in the dump" >&2; exit 1; }
done
want=$("$T" inspect m --dump text --field user | awk -v b="$bucket" '
	$1 == "user" && $2 == b { for (i = 3; $i != "|"; i++) printf("%s%s", (i > 3) ? "," : "", $i) }')
grep -qF "\"weights\":[$want]" out || { echo "weights: wanted $want" >&2; cat out >&2; exit 1; }
expect 0 "$T" inspect m --feature user=u3
prints "user=u3   bucket $bucket of 60"
prints 'user.linear   trained'
expect 0 "$T" inspect m --feature item=
prints 'bucket 200 of 200, that of missing values'
prints 'item   never trained'
expect 64 "$T" inspect m --feature itm=3
says "did you mean 'item'?"
expect 64 "$T" inspect m --feature x=3
says "field 'x' is numeric and has no table"
expect 64 "$T" inspect m --feature user
says "wanted FIELD=VALUE"

# Collisions: what --feature says of every value, counted by hand.
cut -f 2 a.tsv b.tsv | sort -u >values
for v in $(cat values); do
	"$T" inspect m --feature "user=$v" --json | sed 's/.*"ids":\[{"id":\([0-9]*\),.*/\1/'
done >buckets
n=$(wc -l <values)
occupied=$(sort -u buckets | wc -l)
most=$(sort buckets | uniq -c | sort -n | awk 'END { print $1 }')
shared=$(sort buckets | uniq -c | awk '$1 > 1 { n += $1 } END { print n + 0 }')
[ "$n" -gt "$occupied" ] || { echo 'nothing collides, so that this tests nothing' >&2; exit 1; }
expect 0 "$T" inspect m --collisions --field user --json
prints "\"buckets\":60,\"values\":$n,\"occupied\":$occupied,\"collisions\":$((n - occupied)),"
prints "\"shared\":$shared,\"most\":$most,\"rounds\":1,"
grep -q '"table":"item"' out && exit 1
sed 's/.*"expected":\([0-9.]*\).*/\1/' out | awk -v n="$n" '
	{ d = $1 - (n - 60 * (1 - (1 - 1 / 60) ^ n)); exit !(d < 1e-6 && d > -1e-6) }' || {
	echo 'not what is expected by chance' >&2; cat out >&2; exit 1; }
expect 0 "$T" inspect m --collisions a.tsv
grep -qE "^user  *60  *$(cut -f 2 a.tsv | sort -u | wc -l) " out || { cat out >&2; exit 1; }

# B103, B104: names of all that was trained, and how many are not known.
expect 0 "$T" inspect m --names --field user
prints "user   names known: $occupied of $occupied trained buckets (100%)"
paste buckets values | while read -r b v; do
	awk -F '\t' -v b="$b" -v v="$v" '$2 == b { for (i = 3; i <= NF; i++) if ($i == v) ok = 1 }
		END { exit !ok }' out || { echo "bucket $b does not have the name $v" >&2; exit 1; }
done || exit 1
grep -q '^item' out && exit 1
rm b.tsv
expect 0 "$T" inspect m --names --field user
says '1 file that the model was trained on cannot be read any more'
known=$(cut -f 2 a.tsv | sort -u | while read -r v; do
	grep -n -x "$v" values | cut -d : -f 1; done | while read -r k; do sed -n "${k}p" buckets; done |
	sort -u | wc -l)
[ "$known" -lt "$occupied" ] || exit 1
prints "user   names known: $known of $occupied trained buckets"
rm a.tsv
expect 66 "$T" inspect m --names
says 'name data behind MODEL'
printf 'label\tuser\titem\tx\n' >header.tsv
for what in --names --collisions; do
	expect 65 "$T" inspect m $what header.tsv
	says "no rows in 'header.tsv'"
done
printf '0\tnobody\ti1\t0\n' >other.tsv
expect 0 "$T" inspect m --names other.tsv --field user --json
prints "\"trained\":$occupied,\"known\":"
expect 64 "$T" inspect m other.tsv
says 'data are named with --collisions and --names only'

# Three periods of one growing file: the ledger has ranges of it.
expect 0 "$T" synth -O log.tsv --hours 3 --hour-rows 400 --spec-out hourly.ini
expect 0 "$T" train hourly.ini --incremental -f hourly -o incremental.wait=0
expect 0 "$T" inspect hourly --names
grep 'names known' out >known
[ "$(wc -l <known)" -ge 2 ] && ! grep -v '(100%)' known || { cat known >&2; exit 1; }

# More values than are counted by an estimate elsewhere, and all of them.
awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%d\tu%d\ti%d|i%d\tn\n", i % 2, i, i % 50,
	i % 70 + 100 }' >many.tsv
cat >many.ini <<'END'
[model]
type = fm
[data]
format = tsv
label = 1
[field user]
column = 2
buckets = 5000
[field items]
column = 3
type = multi
multi_separator = |
buckets = 64
[field pair]
type = cross
fields = user,items
buckets = 1000
[embedding]
dim = 2
[train]
batch_size = 4096
END
expect 0 "$T" train many.ini -d many.tsv -f many
expect 0 "$T" inspect many --collisions --json
prints '"table":"user","buckets":5000,"values":70000,"occupied":5000,"collisions":65000,'
prints '"table":"items","buckets":64,"values":120,'
prints '"table":"pair","buckets":1000,"values":140000,"occupied":1000,'
expect 0 "$T" inspect many --names --field items
prints 'items   names known: '
grep -qE '\(100%\)' out || { cat out >&2; exit 1; }

# The longest rows, and JSON of them.
expect 0 "$T" inspect many --tables --field user
prints 'longest rows of user'
prints 'longest rows of user.linear'
expect 0 "$T" inspect many --tables --field user --json
longest=$(sed 's/.*"name":"user",[^]]*"longest":\[{"row":\([0-9]*\).*/\1/' out)
want=$("$T" inspect many --dump text --field user | awk '
	$1 == "user" { n = $3 ^ 2 + $4 ^ 2; if (n > most) { most = n; at = $2 } } END { print at }')
[ "$longest" = "$want" ] || { echo "longest row $longest, wanted $want" >&2; exit 1; }
