#!/bin/sh
# data.cache: the model is the same to the bit with and without, resumed or not, and rows
# of a text that changed are never used; check, plan and gc know of it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 900 1 >train.tsv
make_spec s.ini
dump() {
	"$T" inspect "$1" --dump text >"$1.txt" || fail "cannot dump $1"
}
same() {
	dump "$1"
	cmp -s plain.txt "$1.txt" || fail "$1 is another model than without a cache"
}
train() {
	expect 0 "$T" train s.ini --fresh -o train.epochs=2 "$@"
}

train -f plain
dump plain
train -f made -o data.cache=rows
same made
set -- rows/*.rows
[ -f "$1" ] && [ $# = 1 ] || fail "no cache was made"
cp "$1" former
train -f used -o data.cache=rows -j 2
same used

# one group is damaged, which is told when it is read; made anew, none is
cp "$1" good.rows
for anew in '' --rebuild-cache; do
	printf '\377\377' | dd of="$1" bs=1 seek=4 conv=notrunc 2>/dev/null
	rm -rf anew
	train -f anew -o data.cache=rows $anew
	same anew
	grep -q 'is damaged' err && told=yes || told=no
	[ "$told" = "$([ -n "$anew" ] && echo no || echo yes)" ] ||
		fail "a damaged cache, '$anew': $(cat err)"
	[ -e "$1" ] || cp good.rows "$1"
done
[ "$(ls rows | wc -l)" = 1 ] || fail "--rebuild-cache left something: $(ls rows)"
expect 64 "$T" train s.ini -f none --rebuild-cache
grep -q 'data.cache names no directory' err || { cat err; exit 1; }
[ ! -e none ] || fail "a refused run left a directory"

# a run that is killed half way goes on with or without it
for way in '' '-o data.cache=rows'; do
	for back in '-o data.cache=rows' ''; do
		rm -rf halves
		RECSYS_TRAIN_FAILPOINT=checkpoint.before_manifest@2=kill "$T" train s.ini --fresh \
			-o train.epochs=2 -f halves -o train.checkpoint_every=0.001 $way \
			>/dev/null 2>&1 && fail "the run was not killed"
		expect 0 "$T" train s.ini -f halves --resume -o train.epochs=2 $back
		same halves
	done
done

# another text of the same size and times
touch -r train.tsv times
sed '1,20s/u1/u2/' train.tsv >other.tsv
cat other.tsv >train.tsv
touch -r times train.tsv
rm -rf plain
train -f plain
dump plain
train -f stale -o data.cache=rows
same stale
cmp -s former "$1" && fail "the cache of a changed text stayed"

# no room, no directory: a warning, and the rows come from the text
: >full
expect 0 "$T" train s.ini --fresh -o train.epochs=2 -f full_model -o data.cache=/proc/nothing
grep -q 'without a cache' err || fail "nothing is told of a cache that cannot be made"
same full_model
expect 78 "$T" check s.ini -o data.cache=full
grep -q 'no directory' err || fail "check takes a file for a directory"
expect 0 "$T" check s.ini -o data.cache=rows

expect 0 "$T" plan s.ini -o data.cache=rows
grep -q '^cache  *1 file of parsed rows' out || fail "plan does not tell of the cache"
expect 0 "$T" gc stale -n
grep -q 'rows/' out && fail "gc takes a cache that is good"
: >rows/broken-0123456789abcdef.rows
: >rows/.tmp-1-0-busy-0123456789abcdef.rows
: >rows/.tmp-2147483646-0-gone-0123456789abcdef.rows   # above the largest pid that can be
# what is no cache by its name, or no file, is not ours
cp train.tsv rows/train.rows
mkdir -p rows/more.rows rows/dir-0123456789abcdef.rows
: >rows/dir-0123456789abcdef.rows/kept
echo '1	more' >>train.tsv
expect 0 "$T" plan s.ini -o data.cache=rows --sample 0
grep -q '^cache  *0 files' out || fail "plan counts the cache of a changed text"
expect 0 "$T" gc stale
[ -e rows/broken-0123456789abcdef.rows ] && fail "a damaged cache stayed"
[ -e rows/.tmp-1-0-busy-0123456789abcdef.rows ] ||
	fail "a file of a process that lives was removed"
[ -e rows/.tmp-2147483646-0-gone-0123456789abcdef.rows ] &&
	fail "a file of a process that is gone stayed"
[ -s rows/train.rows ] || fail "gc took a file that is no cache"
[ -d rows/more.rows ] && [ -e rows/dir-0123456789abcdef.rows/kept ] || fail "gc took a directory"
[ -e "$1" ] && fail "the cache of a changed text stayed"

# rows of data.valid, too: made by train, used by it and by eval, never when the text changed
figures() {
	rm -rf judged
	expect 0 "$T" train s.ini --fresh -o train.epochs=3 -o data.valid=valid.tsv -f judged \
		--json "$@"
	sed -n 's/.*"valid":\({[^}]*}\),"model".*/\1/p' out
}
has_figures() {
	figures -o data.cache=judging ${2-} >got
	[ -s got ] && [ "$(cat got)" = "$1" ] || fail "other figures of data.valid: $(cat got)"
}
make_rows 900 1 >train.tsv
make_rows 500 3 >valid.tsv
without=$(figures)
has_figures "$without"
set -- judging/valid.tsv-*.rows
[ -f "$1" ] && [ $# = 1 ] || fail "no cache of data.valid was made: $(ls judging)"
cp "$1" good.rows
has_figures "$without"
expect 0 "$T" eval judged valid.tsv
cp out eval.txt
damage() {
	cp good.rows "$1"
	printf '\377\377' | dd of="$1" bs=1 seek=4 conv=notrunc 2>/dev/null
}
damage "$1"
expect 0 "$T" eval judged valid.tsv
grep -q 'is damaged' err || fail "eval reads no cache of data.valid"
cmp -s out eval.txt || fail "eval has other figures: $(cat out)"
[ ! -e "$1" ] || fail "a damaged cache of data.valid stayed"
expect 0 "$T" eval judged valid.tsv
[ ! -e "$1" ] || fail "eval made a cache"
damage "$1"
has_figures "$without"
[ "$(grep -c 'is damaged' err)" = 1 ] || fail "a damaged cache of data.valid: $(cat err)"
has_figures "$without"
grep -q 'is damaged' err && fail "a damaged cache of data.valid was not made again"
[ -e "$1" ] || fail "a damaged cache of data.valid was not made again"
damage "$1"
has_figures "$without" --rebuild-cache
grep -q 'is damaged' err && fail "--rebuild-cache does not make that of data.valid anew"
touch -r valid.tsv times
sed '1,20s/u1/u2/' valid.tsv >other.tsv
cat other.tsv >valid.tsv
touch -r times valid.tsv
changed=$(figures)
[ "$changed" != "$without" ] || fail "the other text of data.valid has the same figures"
has_figures "$changed"
exit 0
