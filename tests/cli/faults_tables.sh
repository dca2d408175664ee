#!/bin/sh
# Faults of other programs with what is left from an earlier or another run, and with numbers
# of two bytes: each case is named after its row.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/cases.sh"
T=$RECSYS_TRAIN

# what an earlier run had made of the data was used for other data, buckets and separators
B100_nothing_of_an_earlier_run_is_taken_for_other_data() {
	make_rows 600 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	cp train.tsv before.tsv

	# Another file of one name, size and time.
	sed 's/	i/	j/' before.tsv >train.tsv
	touch -r before.tsv train.tsv
	expect 0 "$T" train s.ini -f m --fresh
	dump m >have
	mkdir clean
	cp train.tsv s.ini clean
	(cd clean && expect 0 "$T" train s.ini -f m && dump m >../want) || exit 1
	same want have 'other data'

	for key in 'field user.buckets=50' data.shuffle=no; do
		expect 0 "$T" train s.ini -f m --fresh -o "$key"
		dump m >have
		(cd clean && expect 0 "$T" train s.ini -f "m.$key" -o "$key" &&
			dump "m.$key" >../want) || exit 1
		same want have "$key"
	done
	tr '\t' ';' <before.tsv >train.tsv
	expect 0 "$T" train s.ini -f m --fresh -o 'data.separator=;'
	dump m >have
	mv before.tsv train.tsv
	expect 0 "$T" train s.ini -f tabs
	dump tabs >want
	same want have 'another separator'
}

# weights of two bytes did not converge, or embeddings did not learn
L035_two_bytes_learn_as_four_do() {
	make_rows 6000 1 >train.tsv
	make_rows 2000 2 >valid.tsv
	make_spec s.ini
	for storage in fp32 bf16 fp16; do
		expect 0 "$T" train s.ini -f $storage -o embedding.storage=$storage --epochs 2 \
			--valid valid.tsv -o train.early_stop=0
		expect 0 "$T" eval $storage valid.tsv --json
		sed -n 's/.*"logloss":\([0-9.]*\).*/\1/p' out >loss.$storage
	done
	expect 0 "$T" train s.ini -f still --epochs 2 --valid valid.tsv -o train.early_stop=0 \
		-o embedding.learning_rate=1e-30 -o linear.learning_rate=1e-30
	expect 0 "$T" eval still valid.tsv --json
	sed -n 's/.*"logloss":\([0-9.]*\).*/\1/p' out >loss.still
	cat loss.fp32 loss.bf16 loss.fp16 loss.still | paste -s -d ' ' - >losses
	awk '{
		for (i = 2; i <= 3; i++)
			if ($i > 1.005 * $1 || $1 > 1.005 * $i || $4 < 1.02 * $i)
				exit 1
	}' losses || { echo 'loss of fp32 bf16 fp16, and of tables that stay:'; cat losses; exit 1; }
}

# two runs in one directory took each other's weights
L073_runs_that_overlap_leave_one_model_each_its_own() {
	make_rows 1500 1 >a.tsv
	make_rows 1500 2 >b.tsv
	make_spec s.ini
	for d in a b; do
		expect 0 "$T" train s.ini -f own.$d -d $d.tsv --epochs 8 --seed 3
		dump own.$d >want.$d
	done
	for round in 1 2 3; do
		rm -rf m
		"$T" train s.ini -f m -d a.tsv --epochs 8 --seed 3 --fresh 2>err.a & a=$!
		"$T" train s.ini -f m -d b.tsv --epochs 8 --seed 3 --fresh 2>err.b & b=$!
		ends $a
		code_a=$code
		ends $b
		dump m >have
		case $code_a:$code in
		0:75) same want.a have 'the model is not that of the run that had the lock' ;;
		75:0) same want.b have 'the model is not that of the run that had the lock' ;;
		0:0)                   # one after the other; each version is of its own run
			dump m/v000001 >first
			dump m/v000002 >second
			for v in first second; do
				cmp -s $v want.a || same want.b $v "round $round: $v is of neither"
			done
			cmp -s first second && { echo 'one run made both'; exit 1; } ;;
		*) echo "exits $code_a and $code"; cat err.a err.b; exit 1 ;;
		esac
	done
	! ls -A m | grep -q '^\.tmp-' || { ls -A m; exit 1; }
	# The one that came too late says who has it, and the next goes on from the other.
	flock m/LOCK sleep 600 & holder=$!
	tries=0
	while flock -n m/LOCK true && [ $((tries += 1)) -lt 600 ]; do sleep .1; done
	expect 75 "$T" train s.ini -f m -d b.tsv --fresh
	says 'locked'
	kill $holder $(ps -o pid= --ppid $holder)
	ends $holder 20
}

run_cases "$SRCDIR/tests/cli/faults_tables.sh"
