#!/bin/sh
# predict: one line a row, in order, whatever the rows look like.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_rows 3000 2 >new.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m

lines() { # N: out has so many
	[ "$(wc -l <out)" -eq "$1" ] || { echo "wanted $1 lines, got $(wc -l <out)" >&2; exit 1; }
}

# near TEXT: out is want but for the last bit of a number: where a row lies in its batch
# decides on some processors which lanes of the matrix product it goes through.
near() {
	paste want out | awk 'NF != 2 || !($1 - $2 < 2e-7 && $2 - $1 < 2e-7) { exit 1 }' && lines 3000 ||
		{ echo "$1" >&2; exit 1; }
}

expect 0 "$T" predict m new.tsv
lines 3000
awk '!($1 > 0 && $1 < 1) { exit 1 }' out || exit 1
cp out want

# The same on any number of threads, from standard input, gzip, and into a file.
for threads in 1 2 3; do
	expect 0 "$T" predict m new.tsv -j $threads
	same want out 'the predictions depend on threads'
done
expect 0 "$T" predict m - <new.tsv
same want out 'standard input'
gzip -c new.tsv >new.gz
expect 0 "$T" predict m new.gz
same want out 'gzip'
expect 0 "$T" predict m new.tsv -p file
same want file '-p'
[ ! -s out ] || exit 1
head -n 1000 new.tsv >p1; tail -n +1001 new.tsv >p2
expect 0 "$T" predict m p1 p2
near 'two files'

expect 74 "$T" predict m - <&-
says 'standard input'

# B026, B028: elsewhere, with everything else gone.
mkdir away; cp -r m away/model; mkdir hidden; mv s.ini train.tsv hidden
expect 0 "$T" predict away/model new.tsv
same want out 'B026: a moved model predicts otherwise'
mv hidden/* .

# B083: no label column is needed; a wrong number of columns says so.
cut -f2- new.tsv >nolabel.tsv
expect 0 "$T" predict m nolabel.tsv
near 'B083: rows without a label'
cut -f2-3 new.tsv >narrow.tsv
expect 65 "$T" predict m narrow.tsv
says 'narrow.tsv'
says 'column'

# Formats.
expect 0 "$T" predict m new.tsv --format logit
paste want out | awk '{ p = 1 / (1 + exp(-$2)); d = p - $1; if (!(d < 1e-5 && d > -1e-5)) exit 1 }' || exit 1
expect 0 "$T" predict m new.tsv --format inputs
lines 3000
[ "$(grep -cE '^\{"user":[0-9]+,"item":[0-9]+,"x":-?[0-9.e-]+\}$' out)" -eq 3000 ] ||
	{ echo '--format inputs'; head -3 out; exit 1; }
printf '1\t\ti5\t\n1\tu1\t\t0.5\n' >holes.tsv
expect 0 "$T" predict m holes.tsv --format inputs
lines 2
grep -q '^{"user":200,"item":[0-9]*,"x":null}$' out || { cat out; exit 1; }
grep -q '^{"user":[0-9]*,"item":200,"x":0.5}$' out || { cat out; exit 1; }
expect 64 "$T" predict m holes.tsv --format inputs --id 2
expect 0 "$T" predict m new.tsv --id 2
cut -f1 out >ids; cut -f2 new.tsv >want_ids
same want_ids ids '--id'
cut -f2 out >p
same want p '--id: predictions'
expect 0 "$T" predict m new.tsv --format tsv
[ "$(tail -n 1 out | cut -f1)" = 3000 ] || exit 1
expect 0 "$T" predict m new.tsv --format json --id 2
lines 3000
head -n 1 out | grep -q '^{"row":1,"id":"u[0-9]*","prediction":0\.[0-9]*,"logit":-*[0-9.e-]*}$' ||
	{ head -n 1 out >&2; exit 1; }
expect 64 "$T" predict m new.tsv --format xml
expect 64 "$T" predict m new.tsv --on-bad-row ignore

# B069: odd bytes inside of cells make no rows and lose none.
{
	printf '1\tu\302\2051\ti1\t0.5\n'        # U+0085
	printf '1\tu\342\200\2502\ti1\t0.5\n'    # U+2028
	printf '1\tu\f3\ti\v1\t0.5\n'
	printf '1\tu\r4\ti1\t0.5\n'              # a lone CR is data
	printf '1\tu5\ti1\t0.5\r\n'
	printf '1\t'; head -c 300000 /dev/zero | tr '\0' 'x'; printf '\ti1\t0.5\n'
	printf '1\tu6\ti1\t0.5'                  # no line end
} >odd.tsv
expect 0 "$T" predict m odd.tsv
lines 7
{ printf '1\tu\0007\ti1\t0.5\n'; cat odd.tsv; } >nul.tsv
expect 65 "$T" predict m nul.tsv
says 'nul.tsv:1'
expect 3 "$T" predict m nul.tsv --on-bad-row na
lines 8
[ "$(head -n 1 out)" = NA ] || exit 1
{ head -n 10 new.tsv; echo 'x'; printf '1\tu1\ti1\tabc\n'; tail -n 10 new.tsv; } >bad.tsv
expect 3 "$T" predict m bad.tsv --on-bad-row na
lines 22
[ "$(grep -c '^NA$' out)" -eq 2 ] || { cat out >&2; exit 1; }
sed -n 11,12p out | grep -qv NA && exit 1
expect 65 "$T" predict m bad.tsv -p absent
says 'bad.tsv:11'
[ ! -e absent ] || { echo 'a failed predict left its file' >&2; exit 1; }

# B065: blank lines are no rows.
{ echo; head -n 5 new.tsv; echo; echo; tail -n 5 new.tsv; echo; } >blank.tsv
expect 0 "$T" predict m blank.tsv
lines 10

# B090, B092: any id has a bucket.
for id in never-seen -1 -7 -9223372036854775808 9223372036854775808 18446744073709551615 \
	-0 007 99999999999999999999; do
	printf '1\t%s\t%s\t0.5\n' "$id" "$id"
done >ids.tsv
expect 0 "$T" predict m ids.tsv
lines 9
: >empty.tsv
expect 0 "$T" predict m empty.tsv
lines 0

# A reader that goes away.
for i in 1 2 3 4; do cp new.tsv "more$i"; done
( "$T" predict m more* 2>err; echo $? >code ) | head -n 1 >out
case $(cat code) in 0|141) ;; *) cat code err >&2; exit 1 ;; esac

# B033: the locale does not matter.
for locale in de_DE.UTF-8 fr_FR.UTF-8 C; do
	expect 0 env LC_ALL=$locale "$T" predict m new.tsv
	same want out "B033: predictions under $locale"
done
expect 66 "$T" predict nowhere new.tsv
expect 66 "$T" predict m nowhere.tsv
expect 64 "$T" predict m
exit 0
