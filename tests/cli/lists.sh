#!/bin/sh
# Format lists through the program, and items drawn as negatives.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
# make_lists N: lines of a user and up to 30 of 40 items; some have none.
make_lists() {
	awk -v n="$1" -v s=3 '
	function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		for (i = 0; i < n; i++) {
			printf "u%d", i
			for (k = int(u() * 31); k > 0; k--)
				printf "%s%s", (u() < 0.5 ? " " : "\t"), "i" int(u() * u() * 40)
			printf "\n"
		}
	}'
}
make_lists 80 >train.txt
rows=$(awk '{ n += NF - 1 } END { print n }' train.txt)
cat >s.ini <<END
[model]
type = fm
[data]
train = train.txt
format = lists
row_group = 1k
shuffle_window = 3k
[field user]
buckets = 1000
[field item]
buckets = 1000
[field history]
type = sequence
share = item
max_length = 5
[embedding]
dim = 4
[train]
batch_size = 64
epochs = 2
early_stop = 0
END
cat s.ini - >n.ini <<END
[items]
key = item
negatives = 3
sample = popularity
END

# every_item_is_a_row
expect 0 "$T" train s.ini -f plain --json
grep -q "\"rows\":$((2 * rows))," out || { echo "rows are not $((2 * rows))" >&2; cat out >&2; exit 1; }
expect 0 "$T" predict plain train.txt
[ "$(wc -l <out)" = "$rows" ] || { echo "$(wc -l <out) predictions of $rows rows" >&2; exit 1; }
expect 0 "$T" predict plain train.txt --id item
cut -f 1 out >got
awk '{ for (i = 2; i <= NF; i++) print $i }' train.txt >want
same want got 'the ids of predict are not the items'
expect 0 "$T" check s.ini --data=all
expect 0 "$T" eval plain train.txt

# gzip_line_ends_and_standard_input_change_nothing
O='-o data.shuffle=no --epochs 1'
expect 0 "$T" train s.ini $O -f ordered
dump ordered >want
gzip -c train.txt >train.txt.gz
sed 's/$/\r/' train.txt >train.crlf
{ printf '\357\273\277'; head -c -1 train.txt; } >train.bom
for file in train.txt.gz train.crlf train.bom; do
	expect 0 "$T" train s.ini $O -f new.$file -d $file
	dump new.$file >got
	same want got "$file gives another model"
done
expect 0 "$T" train s.ini $O -f new.stdin -d - <train.txt
dump new.stdin >got
same want got 'standard input gives another model'

# a_line_longer_than_a_row_group_is_read_whole
{ printf u; awk 'BEGIN { for (i = 0; i < 4000; i++) printf " i%d", i % 40; print "" }'; make_lists 9; } >long.txt
expect 0 "$T" train s.ini -f long -d long.txt -o data.row_group=100 -o data.shuffle_window=200 --json --epochs 1
grep -q "\"rows\":$(awk '{ n += NF - 1 } END { print n }' long.txt)," out || { cat out >&2; exit 1; }

# the_model_is_the_same_whatever_the_threads
for spec in s n; do
	for threads in 1 2 3; do
		expect 0 "$T" train $spec.ini -f $spec$threads -j $threads -o data.threads=$threads
		dump $spec$threads >$spec.$threads
		same $spec.1 $spec.$threads "$spec: $threads threads give another model"
		[ $spec = s ] || same n1/v000001/items.bin n$threads/v000001/items.bin 'other items'
	done
done
cmp -s s.1 n.1 && { echo 'negatives change nothing' >&2; exit 1; }

# negatives_count_as_no_rows
expect 0 "$T" train n.ini -f drawn --json
grep -q "\"rows\":$((2 * rows))," out || { echo 'drawn rows were counted' >&2; cat out >&2; exit 1; }
expect 0 "$T" train n.ini -f told --json -P 100
grep '"message_type":"progress"' out | awk -F '"row":' -v most=$((2 * rows)) '
	{ n++; if ($2 + 0 > most) exit 1 } END { exit n < 10 }' ||
	{ echo 'the progress table counts drawn rows' >&2; cat out >&2; exit 1; }
expect 0 "$T" inspect drawn
prints "$(awk '{ for (i = 2; i <= NF; i++) print $i }' train.txt | sort -u | wc -l) items"

# stopped_and_resumed_it_draws_the_same
for limit in 0.05 0.15; do
	rm -rf cut
	"$T" train n.ini -f cut -o train.checkpoint_every=0.02 --epochs 8 2>err & pid=$!
	sleep $limit
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	expect 0 "$T" train n.ini -f cut -o train.checkpoint_every=0.02 --epochs 8 --resume
	[ -e want8 ] || { expect 0 "$T" train n.ini -f whole --epochs 8; dump whole >want8; }
	dump cut >got
	same want8 got 'resumed it draws other items'
done

# a_warm_start_knows_old_and_new_items
printf 'v0 new1 i1 new2\nv1 i2 new1\n' >more.txt
expect 0 "$T" train n.ini -f warm -i drawn -d more.txt
expect 0 "$T" inspect warm
prints "$((2 + $(awk '{ for (i = 2; i <= NF; i++) print $i }' train.txt | sort -u | wc -l))) items"

# a_stream_cannot_have_negatives
expect 78 "$T" train n.ini -f new -d - --epochs 1 <train.txt
says 'items.negatives needs all items beforehand, but a stream is read only once'
expect 78 "$T" train n.ini -f new -o data.train= --data-command 'cat train.txt' --epochs 1
says 'items.negatives needs all items beforehand'

# a_damaged_file_of_items_is_noticed
printf '\377' | dd of=warm/v000001/items.bin bs=1 seek=40 conv=notrunc 2>/dev/null
expect 65 "$T" predict warm train.txt
says items.bin
