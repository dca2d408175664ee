#!/bin/sh
# predict --follow: each line is answered at once, by the version that CURRENT names.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 500 1 >train.tsv
make_rows 2000 2 >new.tsv
make_spec s.ini
for seed in 1 2; do
	expect 0 "$T" train s.ini -f m --fresh --seed $seed -o train.keep=9
	expect 0 "$T" predict m new.tsv
	cp out want$seed
done
cmp -s want1 want2 && { echo 'two seeds predict the same'; exit 1; }

# name N: CURRENT names this version from now on.
name() {
	printf 'v00000%s\n' "$1" >m/next && mv m/next m/CURRENT
}

name 1
mkfifo in answers
# Killed, it has no more answers, and who waits for one hears that.
timeout -s KILL 200 "$T" predict m - --follow -j 1 <in >answers 2>err &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$TMP"' EXIT
exec 3>in 4<answers
# ask LINE: the answer to it, while the stream stays open.
ask() {
	printf '%s\n' "$1" >&3
	read -r answer <&4 || { echo 'no answer'; cat err; exit 1; }
}
# answers_of N ROW: the stream answers as version N does.
answers_of() {
	ask "$(sed -n "$2p" new.tsv)"
	[ "$answer" = "$(sed -n "$2p" want$1)" ] && return 0
	echo "row $2: '$answer' is not of version $1" >&2
	cat err >&2
	exit 1
}
# becomes N ROW: it does so before long.
becomes() {
	for i in $(seq 300); do
		ask "$(sed -n "$2p" new.tsv)"
		[ "$answer" = "$(sed -n "$2p" want$1)" ] && return 0
		sleep .1
	done
	echo "version $1 was not taken up" >&2
	cat err >&2
	exit 1
}
for row in 1 2 3 4 5; do
	answers_of 1 $row
done
# A row that is bad is named, and the next one is answered; half a line waits for its rest.
ask "$(printf '1\tu1')"
[ "$answer" = NA ] || { echo "a bad row is '$answer'"; exit 1; }
grep -q 'standard input:6' err || { cat err; exit 1; }
head -n 7 new.tsv | tail -n 1 | cut -c1-5 | tr -d '\n' >&3
sleep .2
sed -n 7p new.tsv | cut -c6- >&3
read -r answer <&4
[ "$answer" = "$(sed -n 7p want1)" ] || { echo "a line in two parts is '$answer'"; exit 1; }

name 2
becomes 2 8
answers_of 2 9
name 1
becomes 1 10

# What cannot be read is named, and the version at hand stays.
cp -r m/v000002 m/v000003
printf 'x' | dd of=m/v000003/dense.bin bs=1 seek=3000 conv=notrunc 2>/dev/null
name 3
for i in $(seq 300); do
	grep -q 'dense.bin.*stays' err && break
	sleep .1
done
grep -q 'v000003/dense.bin.*v000001 stays until CURRENT changes' err || { cat err; exit 1; }
answers_of 1 11
name 2
becomes 2 12

# The last line needs no end.
sed -n 13p new.tsv | tr -d '\n' >&3
exec 3>&-
read -r answer <&4
[ "$answer" = "$(sed -n 13p want2)" ] || { echo "the last line is '$answer'"; exit 1; }
ends $pid
trap 'rm -rf "$TMP"' EXIT
[ "$code" = 3 ] || { echo "exit $code"; cat err; exit 1; }

# A stream that never rests, while versions change: no line is lost, none out of order.
name 1
(
	for i in 1 2 3 4 5 6 7 8 9 10; do
		cat new.tsv
		name $((i % 2 + 1))
		sleep .1
	done
) | timeout -s KILL 200 "$T" predict m - --follow -j 1 >got 2>err || { cat err; exit 1; }
for i in 1 2 3 4 5 6 7 8 9 10; do cat want1; done >all1
for i in 1 2 3 4 5 6 7 8 9 10; do cat want2; done >all2
paste got all1 all2 | awk '
	NF != 3 || ($1 != $2 && $1 != $3) { print "line " NR ": " $0; exit 1 }
	$2 == $3 { next }
	{ now = $1 == $2 ? 1 : 2; changes += now != last; last = now }
	END { if (NR != 20000 || changes < 2) { print NR " lines, " changes " changes"; exit 1 } }' || exit 1

# Names of columns are found anew; a header gets no answer, tsv has numbers of rows.
{ printf 'y\tuser\titem\tx\n'; cat train.tsv; } >named.tsv
sed 's/column = 2/column = user/; s/column = 3/column = item/; s/column = 4/column = x/
	s/label = 1/label = y/; s/train.tsv/named.tsv/' s.ini >n.ini
expect 0 "$T" train n.ini -f n -o train.epochs=1
{ printf 'x\titem\tz\tuser\n'; awk '{ print $4 "\t" $3 "\tz\t" $2 }' new.tsv; } >turned.tsv
expect 0 "$T" predict n turned.tsv --format tsv
cp out want
expect 0 "$T" predict n - --follow --format tsv <turned.tsv
same want out 'a stream with a header'
expect 0 "$T" predict n/v000001 - --follow --format tsv <turned.tsv
same want out 'the directory of a version'
cut -f1,2 turned.tsv >narrow.tsv
expect 65 "$T" predict n - --follow <narrow.tsv
says "the header has no column 'user'"

for odd in 'new.tsv --follow' '- - --follow' '- --follow -p file' '- --follow --top 3' '- --follow --format inputs'; do
	# shellcheck disable=SC2086
	expect 64 "$T" predict m $odd
done
: >empty
expect 0 "$T" predict m - --follow <empty
[ ! -s out ] || exit 1
printf '1\tu1\n' >short.tsv
cat short.tsv new.tsv >mixed.tsv
expect 65 "$T" predict m - --follow --on-bad-row fail <mixed.tsv
exit 0
