#!/bin/sh
# train --resume with other values of keys: what changes the result is told, what does not is
# not, and what the position in the rows depends on is refused.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 2000 1 >train.tsv
make_spec s.ini
O='-o embedding.table=exact -o embedding.admit=count -o embedding.admit_count=3 --epochs 100000'

"$T" train s.ini -f m $O >o 2>e & pid=$!
tries=0
while [ ! -e m/v000001 ] && [ $tries -lt 400 ]; do
	sleep 0.02
	tries=$((tries + 1))
done
kill $pid
ends $pid
[ "$code" = 143 ] || { echo "wanted 143, got $code" >&2; cat e >&2; exit 1; }
cp -R m kept

# again ARGUMENT...: the interrupted run goes on.
again() {
	rm -rf m
	cp -R kept m
	expect 0 "$T" train s.ini -f m $O --resume --time-limit 0.05 "$@"
}

again
[ ! -s err ] || { echo 'a run resumed as it was is told of changes' >&2; cat err >&2; exit 1; }
again -j 1 -o train.keep=5 -o train.full_every=4 -o data.threads=2 -o runs.db=other.db \
	-o gpu.tables=host
[ ! -s err ] || { echo 'told of keys that change nothing' >&2; cat err >&2; exit 1; }

again -o embedding.admit_count=7
says 'resumed with embedding.admit_count = 7'
says "'3'"
[ "$(grep -c 'resumed with' err)" = 1 ] || { cat err >&2; exit 1; }
again -o gpu.tf32=yes
says 'resumed with gpu.tf32 = yes'
again -o dnn.dropout=0.5 -o train.batch_size=50 -o 'field x.transform=log1p'
for key in dnn.dropout train.batch_size 'field x.transform'; do says "resumed with $key ="; done

# A key that others inherit is told once, and one of a field that has its own apart.
again -o embedding.learning_rate=0.5
says 'embedding.learning_rate = 0.5'
[ "$(grep -c 'resumed with' err)" = 1 ] || { cat err >&2; exit 1; }
again -o 'field user.learning_rate=0.5'
says 'field user.learning_rate = 0.5'
[ "$(grep -c 'resumed with' err)" = 1 ] || { cat err >&2; exit 1; }

rm -rf m; cp -R kept m
expect 65 "$T" train s.ini -f m $O --resume --seed 9
says 'train.seed = 9 is not the one this run began with'
says 'go on with --seed 1'
expect 78 "$T" train s.ini -f m $O --resume -o embedding.dim=5

exit 0
