#!/bin/sh
# export --to recsys: a version that librecsys, eval and predict take, with a byte a weight; hashed
# and exact tables, and those of several rounds.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 4000 1 >train.tsv
make_rows 500 2 | sed 's/\ti3/\tnew3/' >rows.tsv
make_spec s.ini
# Most rows are trained, so that files have all of them, whatever a weight takes.
sed -i 's/^buckets = 200$/buckets = 60/' s.ini

# auc MODEL
auc() {
	"$T" eval "$1" train.tsv --json | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p'
}

# bytes_of MODEL: of the file of a table.
bytes_of() {
	wc -c <"$1/table-user.0-of-1.bin"
}

for kind in 'table=hashed' 'table=exact' 'rounds=2' 'storage=bf16'; do
	rm -rf m small f16 f32
	# Wide, so that what is around the weights does not count.
	expect 0 "$T" -q train s.ini -f m -o "embedding.$kind" -o embedding.dim=64 -o train.epochs=3 \
		-o train.full_every=4 -o train.checkpoint_every=1000000
	expect 0 "$T" export m --to recsys --dtype int8 -O small
	grep -q '^verified [1-9][0-9]* numbers of small: largest difference' out || { cat out; exit 1; }
	expect 0 "$T" export m --to recsys --dtype f16 -O f16
	expect 0 "$T" export m --to recsys -O f32
	expect 0 "$T" export m --to recsys --check -O small
	awk -v small="$(bytes_of small)" -v half="$(bytes_of f16)" -v wide="$(bytes_of f32)" -v k="$kind" \
		'BEGIN { if (small * 2.5 > wide || half * 1.7 > wide) { print k, small, half, wide; exit 1 } }' ||
		fail 'the tables are too large'

	# What is read is what librecsys reads; whole floats change no bit.
	"$T" predict m rows.tsv --format logit >want
	"$T" predict f32 rows.tsv --format logit >have
	same want have "$kind: f32 is another model"
	"$T" predict small rows.tsv --format logit >want8
	paste want want8 | awk '{ d = $1 - $2; d = d < 0 ? -d : d; n += d < 0.1; if (d > most) most = d }
		END { if (!(most > 0 && n == NR)) { print "scores are off by", most; exit 1 } }' ||
		fail "$kind"
	awk -v a="$(auc m)" -v b="$(auc small)" 'BEGIN {
		if (a < 0.6 || a - b > 0.002 || b - a > 0.002) { print "auc", a, b; exit 1 } }' || fail "$kind"

	# No file is left that scoring does not need.
	ls small >files
	sed '/^MANIFEST$/d; /^dense.bin$/d; /^spec.ini$/d; /^table-.*\.0-of-1\.bin$/d' files | grep . &&
		fail "$kind: what is that"
done

# Rows that never trained are in no file: whatever reads it draws them alike, and none rounds them
# as the rows that are there.
rm -rf m few few32
expect 0 "$T" -q train s.ini -f m -o embedding.dim=16 -o embedding.init_stddev=0.3 -o "field user.buckets=9000" \
	-o "field item.buckets=9000"
expect 0 "$T" export m --to recsys -O few32
for type in f16 int8; do
	expect 0 "$T" export m --to recsys --dtype $type -O few --force
	[ "$(bytes_of few)" -lt $((9000 * 16)) ] || fail "$type: all rows were saved"
	for m in few few32; do
		expect 0 "$T" inspect $m --dump text
		grep '^untouched [ui][st]e[rm] [1-9]' out >$m.untouched || fail "$type: all rows were trained"
	done
	same few.untouched few32.untouched "$type: rows that never trained"
	awk -F'\t' -v OFS='\t' '{ $2 = "w" NR; print }' rows.tsv >new.tsv
	"$T" predict few new.tsv --format logit >want
	library_scores few new.tsv want
done

expect 73 "$T" export m --to recsys -O small
expect 0 "$T" export m --to recsys --dtype int8 -O small --force
expect 64 "$T" export m --to recsys --dtype int4 -O small --force
# What is no export is not replaced.
mkdir mine
: >mine/notes
cp -r m model
for other in mine model model/v000001; do
	expect 73 "$T" export m --to recsys -O $other --force
	grep -q "'$other' is not replaced" err || { cat err; exit 1; }
done
[ -e mine/notes ] && [ -e model/CURRENT ] || fail 'files were lost'
# Damage is told by name.
printf 'x' | dd of=small/table-user.0-of-1.bin bs=1 seek=300 conv=notrunc 2>/dev/null
expect 65 "$T" predict small rows.tsv
grep -q 'table-user' err || { cat err; exit 1; }

expect 0 "$T" export m --to recsys --dtype int8 -O small --force
"$T" predict small rows.tsv --format logit >want8
library_scores small rows.tsv want8
