#!/bin/sh
# export --to delta: rows for a server, which applies them in order or says what is missing.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
command -v python3 >/dev/null || { echo 'no python3 here'; exit 77; }
reader=$SRCDIR/tests/cli/delta_reader.py
make_rows 2000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
cat >>s.ini <<-END
	keep = 99
	full_every = 3
	epochs = 5
	early_stop = 0
END
sed 's/buckets = 200/table = exact/; s/^dim = 4/&\nexpire_steps = 1/' s.ini >exact.ini

for spec in s exact; do
	expect 0 "$T" train $spec.ini -f $spec --valid valid.tsv -o train.checkpoint_every=0.0001
	for v in 2 3 4; do
		expect 0 "$T" export $spec/v00000$v --to delta --from $((v - 1)) -O $spec.$v
	done
	expect 0 "$T" export $spec/v000004 --to delta --from v000001 -O $spec.all
	grep -q 'v000004 of v000001: [1-9]' out || { cat out >&2; exit 1; }
	expect 0 python3 "$reader" $spec.2 $spec.3 $spec.4
	sort out >steps
	expect 0 python3 "$reader" $spec.all
	sort out >whole
	[ -s whole ] || { echo 'nothing changed' >&2; exit 1; }
	# What one file says the steps say; what only they name came and went between.
	comm -13 steps whole >differ
	[ ! -s differ ] || { head -3 differ >&2; exit 1; }
	expect 1 python3 "$reader" $spec.2 $spec.4
	says 'v000003 is missing'
	expect 1 python3 "$reader" $spec.2 $spec.3 $spec.3
	says 'v000003 is here already'
	expect 1 python3 "$reader" $spec.3 $spec.2
	says 'v000002 is here already'
done
expect 1 python3 "$reader" s.2 exact.3
says 'of another model'
# L021: a row that went is deleted at the server.
grep -q deleted whole || grep -q deleted steps || { echo 'no row went' >&2; exit 1; }

expect 64 "$T" export s --to delta -O x
says 'which version?'
expect 64 "$T" export s --to npz --from 2 -O x
expect 73 "$T" export s --to delta --from 1 -O s.all
exit 0
