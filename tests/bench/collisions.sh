#!/bin/sh
# collisions.sh: what collisions cost on real data (frappe_x1): DeepFM with exact tables and
# with tables of a half and an eighth as many buckets as a field has values.
#
#	SEEDS='1 2 3' EPOCHS=5 sh tests/bench/collisions.sh
#
# The report of collisions must be what training met: occupied buckets are the rows touched.
set -u
: "${RECSYS_TRAIN:?}" "${RECSYS_DATA:?}" "${SRCDIR:?}"
T=$RECSYS_TRAIN
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
data=$RECSYS_DATA/frappe_x1
[ -f "$data/valid.csv.gz" ] || { echo "no $data"; exit 77; }
gzip -dc "$data/train_reconstructed.csv.gz" | tr -d '\r' >train.csv
"$T" --version | head -n 1
echo "$(($(wc -l <train.csv) - 1)) rows"

# train NAME SEED [OPTION...]
train() {
	name=$1 seed=$2
	shift 2
	"$T" -q train "$SRCDIR/configs/frappe-deepfm.ini" -f "$name" -j 1 -o train.seed="$seed" \
		-o data.train=train.csv -o train.epochs="${EPOCHS:-5}" "$@" 2>err ||
		{ cat err >&2; exit 1; }
	"$T" eval "$name" "$data/valid.csv.gz" --json >out 2>err || { cat err >&2; exit 1; }
	echo "$name seed $seed auc $(sed 's/.*"auc":\([0-9.]*\).*/\1/' out)"
}

# Options that give every field a share of the buckets that it has values, by `values`.
buckets() {
	while read -r field n; do
		m=$((n / $1))
		printf '%s\n' -o "field $field.buckets=$((m > 0 ? m : 1))"
	done <values
}

# How many values each field has.
head -n 200 train.csv >few.csv
"$T" -q train "$SRCDIR/configs/frappe-deepfm.ini" -f few -o data.train=few.csv -o train.epochs=1 &&
	"$T" inspect few --collisions train.csv --json >report || exit 1

for seed in ${SEEDS:-1 2 3}; do
	rm -rf exact half eighth
	train exact "$seed" -o embedding.table=exact
	sed 's/{"table"/\n&/g' report | sed -n 's/.*"table":"\([^"]*\)".*"values":\([0-9]*\),.*/\1 \2/p' >values
	for share in 2 8; do
		name=$([ $share = 2 ] && echo half || echo eighth)
		buckets $share >options
		set --
		while IFS= read -r word; do set -- "$@" "$word"; done <options
		train $name "$seed" "$@"
		"$T" inspect $name --collisions train.csv --json | sed 's/{"table"/\n&/g' |
			sed -n 's/.*"table":"\([^"]*\)".*"occupied":\([0-9]*\),.*/\1 \2/p' | sort >occupied
		"$T" inspect $name --tables --json | sed 's/{"name"/\n&/g' |
			sed -n '/\.linear/d; s/.*"name":"\([^"]*\)".*"touched":\([0-9]*\).*/\1 \2/p' | sort >touched
		cmp occupied touched || { paste occupied touched; echo 'the report is not what was met'; exit 1; }
		awk '{ n += $2 } END { printf "%d values, ", n }' values
		awk '{ n += $2 } END { printf "%d buckets occupied, as reported\n", n }' occupied
	done
done
