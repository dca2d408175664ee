#!/bin/sh
# embedding.resident: a table that is larger than its memory trains to the same model, on any
# number of threads, and every command takes the model; a full disk is an error; a kill leaves
# nothing behind.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
# Half of the ids are few, the others are any of the table.
bags() {
	make_bags "$1" "$2" 300000 2 | awk -v OFS='\t' '{ print $0, "i" NR * 7 % 40 }'
}
bags 4500 1 >train.tsv
bags 2250 2 >more.tsv
bags 500 3 >valid.tsv
mkdir files
make_bags_spec s.ini deepfm 300k
cat >>s.ini <<END
learning_rate = 0.1
[field item]
column = 3
buckets = 100
[dnn]
hidden = 8
[train]
batch_size = 250
slots = 4
END
few="-o embedding.resident=1M -o embedding.spill=files"
bag=table-bag.0-of-1.bin

# What a plan says of it, and what cannot be.
expect 0 "$T" plan s.ini $few
prints 'spill      tables of a worker take'
prints 'up to 39.8 MiB in files'
expect 78 "$T" plan s.ini $few -o embedding.table=exact
says "rows of exact tables cannot leave memory, and field 'bag' has one"
says max_bytes
expect 78 "$T" plan s.ini $few -o placement.mode=ps -o cluster.ps=1
says 'embedding.resident is for tables of the workers'
expect 78 "$T" plan s.ini -o embedding.resident=100
says 'the least is about'
expect 71 "$T" plan s.ini -o embedding.resident=50000G -o 'field bag.buckets=1000G'
says 'embedding.resident = with fewer bytes'
expect 0 "$T" check s.ini -o embedding.spill=files
says 'has no effect without resident'
expect 73 "$T" train s.ini -f m $few -o embedding.spill=nowhere
says "cannot create a file in"
rm -rf m

# alike A B: tables of both have the same files, to the byte.
alike() {
	for file in "$1"/v000001/table-*.bin; do
		cmp "$file" "$2/v000001/${file##*/}" || exit 1
	done
}

# The same model, in the same files: most rows of a table were never trained, and are in none; of
# the other they are in one of all rows.
expect 0 "$T" train s.ini -f all -j 1
dump all >all.dump
[ "$(wc -c <all/v000001/$bag)" -lt 8000000 ] ||
	{ echo 'rows that were never trained are in the file'; exit 1; }
[ "$(head -c 7 all/v000001/$bag)" = RSROWS ] || { echo 'not a file of rows by id'; exit 1; }
for threads in 1 3; do
	rm -rf m
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini -f m -j $threads $few
	dump m >m.dump
	same all.dump m.dump "$threads threads"
	alike all m
done
for also in embedding.rounds=2 embedding.storage=bf16 embedding.decay_every=10; do
	rm -rf x y
	expect 0 "$T" train s.ini -f x -o $also
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini -f y -o $also $few
	dump x >x.dump
	dump y >y.dump
	same x.dump y.dump $also
	alike x y
done
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f workers --workers 2 -o placement.mode=allreduce $few
dump workers >m.dump
same all.dump m.dump 'two workers'
alike all m
# Where most rows were trained, all of them are in the file, in memory or not.
rm -rf x y
expect 0 "$T" train s.ini -f x -o 'field bag.buckets=3000'
expect 0 "$T" train s.ini -f y -o 'field bag.buckets=3000' -o embedding.resident=200k \
	-o embedding.spill=files
[ "$(head -c 7 x/v000001/$bag)" = RSTABLE ] || { echo 'not a file of all rows'; exit 1; }
alike x y
[ -z "$(ls -A files)" ] || { echo 'a file is left'; exit 1; }
expect 0 "$T" inspect m --diff all
[ "$(grep -c 'changed rows 0 ' out)" = 4 ] || { cat out; exit 1; }
for model in all m; do
	expect 0 "$T" predict $model valid.tsv
	cp out $model.predict
	expect 0 "$T" eval $model valid.tsv --json
	sed 's/"model".*//; s/"seconds":[^,]*//' out >$model.eval
	expect 0 "$T" inspect $model --tables
	cp out $model.tables
	expect 0 "$T" export $model --to npz -O $model.npz
	expect 0 "$T" audit $model valid.tsv
	cp out $model.audit
done
for what in predict eval tables npz audit; do
	same all.$what m.$what "$what"
done
expect 0 "$T" export m --to onnx -O m.onnx --verify valid.tsv

# The scoring library.
"$T" predict m valid.tsv --format logit >want
library_scores m valid.tsv want

# It goes on with rows in memory or not, whatever it was; versions are deltas where they may be.
for model in all m; do
	expect 0 "$T" train s.ini -f $model.more -d more.tsv -i $model
	dump $model.more >$model.more.dump
	expect 0 "$T" train s.ini -f $model.few -d more.tsv -i $model $few -o embedding.storage=fp32
	dump $model.few >$model.few.dump
	same all.more.dump $model.more.dump "gone on with $model"
	same all.more.dump $model.few.dump "gone on with $model, few rows in memory"
done
rounds='--epochs 3 --valid valid.tsv -o train.early_stop=0 -o train.full_every=5'
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f all.rounds $rounds
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f rounds $rounds $few
[ "$(cat rounds/v*/MANIFEST | grep -c '^kind = delta$')" = 2 ] || { cat rounds/v*/MANIFEST; exit 1; }
dump all.rounds >all.dump
dump rounds >m.dump
same all.dump m.dump 'a chain of deltas'
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f rounds $rounds $few --epochs 4 --resume
# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f all.rounds $rounds --epochs 4 --resume
dump all.rounds >all.dump
dump rounds >m.dump
same all.dump m.dump 'a chain that was resumed'

# Killed while it trains: no file is left.
# shellcheck disable=SC2086
"$T" train s.ini -f killed $few --epochs 1000 >o 2>e & pid=$!
tries=0
until ls -l /proc/$pid/fd 2>/dev/null | grep -q "$TMP/files/.*deleted"; do
	sleep 0.02
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || { echo 'no file is open'; cat e; exit 1; }
done
kill -9 $pid
ends $pid
[ -z "$(ls -A files)" ] || { echo 'a file is left by a process that was killed'; exit 1; }

# A disk that is full, here by a limit on the size of files.
rm -rf m
# shellcheck disable=SC2086
expect 74 sh -c 'ulimit -f 4000; exec "$@"' sh "$T" train s.ini -f m $few
says "cannot write the rows that are not in memory, in 'files': File too large"
says 'make room there'
[ ! -e m/v000001 ] || { echo 'a version of a model that could not be trained'; exit 1; }
exit 0
