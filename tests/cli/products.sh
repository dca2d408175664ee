#!/bin/sh
# train.products: oneDNN's, the same on any number of threads and workers, stopped or not, nearly
# those of OpenBLAS; refused with the reason where the library is missing, where auto does without.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/product_data.sh"
T=$RECSYS_TRAIN
unset RECSYS_TRAIN_KERNELS
make_rows 3000 1 >train.tsv
make_rows 2000 2 >valid.tsv
make_spec s.ini
halves 1500
wide='-o embedding.dim=8 -o dnn.hidden=32,16 -o train.slots=4 -o train.early_stop=0 -o placement.device=cpu'
other="$wide -o train.products=onednn"

expect 0 "$T" check s.ini -o train.products=auto
expect 78 "$T" check s.ini -o train.products=mkl
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $wide -f plain -j 1 --epochs 2
dump plain >plain.dump

# Without the library, as far as a file of its name that is none can be that.
mkdir none
echo 'no library' >none/libdnnl.so.2
refused 'train.products = onednn' 'train.products = builtin' "$other" \
	env LD_LIBRARY_PATH="$PWD/none"
# shellcheck disable=SC2086
expect 0 env LD_LIBRARY_PATH="$PWD/none" "$T" train s.ini $wide -o train.products=auto -f auto \
	-j 1 --epochs 2
dump auto >auto.dump
same plain.dump auto.dump 'auto without oneDNN is not builtin'
# A forced set of kernels has products of its own.
# shellcheck disable=SC2086
expect 0 env RECSYS_TRAIN_KERNELS=baseline "$T" train s.ini $wide -f forced -j 1 --epochs 2
# shellcheck disable=SC2086
expect 0 env RECSYS_TRAIN_KERNELS=baseline "$T" train s.ini $other -f forced_on -j 1 --epochs 2
dump forced >forced.dump
dump forced_on >forced_on.dump
same forced.dump forced_on.dump 'a forced set of kernels multiplied by oneDNN'

# OpenBLAS's: where the kernels have no product of their own the very same as builtin.
blas="$wide -o train.products=openblas"
for set in baseline avx2; do
	# shellcheck disable=SC2086
	if ! RECSYS_TRAIN_KERNELS=$set "$T" train s.ini $blas -f "blas_$set" -j 1 --epochs 2 >out 2>err; then
		[ $set != baseline ] && grep -q 'cannot run kernel set' err && continue
		cat err
		exit 1
	fi
	# shellcheck disable=SC2086
	expect 0 env RECSYS_TRAIN_KERNELS=$set "$T" train s.ini $wide -f "own_$set" -j 2 --epochs 2
	dump "blas_$set" >blas.dump
	dump "own_$set" >own.dump
	cmp -s blas.dump own.dump
	differs=$?
	[ "$set $differs" = 'baseline 0' ] || [ "$set $differs" = 'avx2 1' ] ||
		{ echo "$set: builtin and openblas, cmp says $differs" >&2; exit 1; }
done

# shellcheck disable=SC2086
"$T" plan s.ini $other >out 2>err || { tail -n 2 err; echo 'no oneDNN here: the rest is skipped'; exit 0; }
alike onednn "$other"
cmp -s plain.dump m1.dump && { echo 'onednn made the model of builtin' >&2; exit 1; }
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $wide -o train.products=auto -f auto --fresh -j 2 --epochs 2
dump auto >auto.dump
same m1.dump auto.dump 'auto is not onednn where that is'
# A model of one goes on with the other, and is scored without it.
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $other -f on -i plain --epochs 1
expect 0 env LD_LIBRARY_PATH="$PWD/none" "$T" eval on valid.tsv
for model in plain m1; do
	expect 0 "$T" eval $model valid.tsv --json
	sed -n 's/.*"auc":\([0-9.]*\).*/\1/p' out >>auc
done
awk 'NR == 1 { a = $1 } END { far = a - $1; exit !(NR == 2 && a > .5 && far < .001 && far > -.001) }' \
	auc || { cat auc; echo 'onednn reaches another AUC than builtin' >&2; exit 1; }

alike_models onednn train.products=onednn "$other"

# bench says what multiplies, and what OpenBLAS would do.
# shellcheck disable=SC2086
expect 0 "$T" bench s.ini --rows 2000 --seconds 1 -j 1 --json $other -o train.slots=1
grep -q '"products":"onednn"' out && grep -q '"openblas_limit_samples_per_s":[1-9]' out ||
	{ cat out; exit 1; }
exit 0
