#!/bin/sh
# PATH@BEGIN-END,... wherever a file may be named: the rows are those of a file of these bytes.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
{ printf 'y\tuser\titem\tx\n'; make_rows 3000 1; } >log.tsv
make_spec s.ini
sed 's/^label = 1/label = y\nheader = yes/; s/^column = 2/column = user/; s/^column = 3/column = item/; s/^column = 4/column = x\ntransform = standardize/' s.ini >h.ini

# bytes N: of the first N lines of log.tsv.
bytes() { head -n "$1" log.tsv | wc -c | tr -d ' '; }
head=$(bytes 1) a=$(bytes 501) b=$(bytes 1501) c=$(bytes 1701) d=$(bytes 2201)
R="0-$head,$a-$b,$c-$d"
{ head -n 1 log.tsv; sed -n '502,1501p;1702,2201p' log.tsv; } >part.tsv
gzip -c part.tsv >part.gz
{ head -n 1000 log.tsv | gzip -c; tail -n +1001 log.tsv | gzip -c; } >log.gz

# Training, with an index and as a stream; fit has its mean and deviation from the ranges.
for shuffle in yes no; do
	O="-o data.shuffle=$shuffle -o data.row_group=4k -o data.shuffle_window=16k"
	expect 0 "$T" train h.ini $O -f part-$shuffle -d part.tsv
	dump part-$shuffle >want
	for f in log.tsv log.gz; do
		rm -rf m
		expect 0 "$T" train h.ini $O -f m -d "$f@$R" --json
		grep -q '"rows_read":1500,' out || { cat out >&2; exit 1; }
		dump m >have
		same have want "$f, shuffle = $shuffle: another model"
	done
done
"$T" runs show last --json >shown || exit 1
grep -qF "log.gz@$R" shown || {
	echo 'the record does not name the ranges' >&2; cat shown >&2; exit 1; }

# eval and predict.
expect 0 "$T" eval m part.tsv --json
mv out want
expect 0 "$T" eval m "log.gz@$R" --json
same out want 'eval: other figures'
expect 0 "$T" predict m part.tsv
mv out want
for f in log.tsv log.gz; do
	expect 0 "$T" predict m "$f@$R"
	same out want "predict: other scores of $f"
done
mkfifo pipe
cat log.tsv >pipe & writer=$!
expect 0 "$T" predict m "pipe@$R"
same out want 'predict: other scores of a pipe'
ends $writer

# check, plan, and a spec that names them.
sed "s/^train = .*/train = \"log.tsv@$R\"/" h.ini >r.ini
expect 0 "$T" check r.ini
expect 0 "$T" plan r.ini
expect 0 "$T" train r.ini -f spec -d part.tsv --valid "log.tsv@0-$head,$d-" --json
grep -q '"valid":{' out || { cat out >&2; exit 1; }

# The items of a catalogue are those of the ranges.
cat >tower.ini <<END
[model]
type = two_tower
loss = sampled_softmax
[data]
train = part.tsv
format = tsv
header = yes
label = y
[field user]
column = user
buckets = 200
[field item]
column = item
buckets = 200
[embedding]
dim = 4
[tower user]
fields = user
hidden = 4
[tower item]
fields = item
hidden = 4
[items]
key = item
fields = item
negatives = 5
END
expect 0 "$T" train tower.ini -f tower-part
expect 0 "$T" train tower.ini -f tower -d "log.gz@$R"
dump tower-part >tower.want
dump tower >have
same tower.want have 'two_tower: another model'
same tower-part/v000001/items.bin tower/v000001/items.bin 'two_tower: other items'

# Parts of one file: their header may be the same, nothing else.
expect 0 "$T" train h.ini -f two --json \
	-d "log.tsv@0-$head,$a-$b" -d "log.tsv@0-$head,$c-$d"
grep -q '"rows_read":1500,' out || { cat out >&2; exit 1; }
expect 65 "$T" train h.ini -f three -d "log.tsv@0-$head,$a-$c" -d "log.tsv@0-$head,$b-$d"
says 'have bytes in common'
expect 65 "$T" train h.ini -f three -d "log.tsv@0-$head,$a-$c" -d log.tsv
says 'log.tsv'

# What cannot be read says why.
expect 65 "$T" train h.ini -f four -d "log.tsv@0-$head,$a-$b,999999-9999999"
says 'log.tsv@'
expect 65 "$T" predict m "log.tsv@0-$head,999999-9999999"
says 'wanted byte'
expect 65 "$T" predict m "log.tsv@0-$head,$((a + 1))-$b"
says 'inside of a line'
expect 66 "$T" predict m "log.tsv@$b-$a"
says 'BEGIN-END'

# A file that is called so comes first.
cp part.tsv "log.tsv@0-10"
expect 0 "$T" predict m 'log.tsv@0-10'
same out want 'a file with an @ in its name was taken for a range'
exit 0
