#!/bin/sh
# collisions.sh [frappe|ml1m]: what collisions cost on real data: exact tables, and tables of a
# half and an eighth as many buckets as a field has values, of one round and of two.  DeepFM on
# frappe_x1, or two towers on ml1m_m1, all of whose items are ranked.
#
#	SEEDS='1 2 3' EPOCHS=5 ROUNDS='1 2' sh tests/bench/collisions.sh frappe
#
# The report of collisions must be what training met: occupied buckets are the rows touched.
set -u
: "${RECSYS_TRAIN:?}" "${RECSYS_DATA:?}" "${SRCDIR:?}"
T=$RECSYS_TRAIN
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
case ${1:-frappe} in
frappe)
	spec=$SRCDIR/configs/frappe-deepfm.ini
	from=$RECSYS_DATA/frappe_x1/train_reconstructed.csv.gz
	held=$RECSYS_DATA/frappe_x1/valid.csv.gz
	figures='auc' ;;
ml1m)
	spec=$SRCDIR/configs/ml1m-two_tower.ini
	from=$RECSYS_DATA/ml1m_m1/train.txt.gz
	held=$RECSYS_DATA/ml1m_m1/test.txt
	figures='recall@20 ndcg@20' ;;
*)
	echo "usage: $0 [frappe|ml1m]" >&2
	exit 64 ;;
esac
[ -f "$held" ] || { echo "no $held"; exit 77; }
gzip -dc "$from" | tr -d '\r' >rows
"$T" --version | head -n 1
echo "$(wc -l <rows) lines, ${EPOCHS:-5} epochs"

# train NAME SEED [OPTION...]
train() {
	name=$1 seed=$2
	shift 2
	rm -rf "$name"
	"$T" -q train "$spec" -f "$name" -j 1 -o train.seed="$seed" \
		-o data.train=rows -o train.epochs="${EPOCHS:-5}" "$@" 2>err ||
		{ cat err >&2; exit 1; }
	"$T" eval "$name" "$held" --json >out 2>err || { cat err >&2; exit 1; }
	printf '%s seed %s' "$name" "$seed"
	for figure in $figures; do
		printf ' %s %s' "$figure" "$(sed "s/.*\"$figure\":\([0-9.]*\).*/\1/" out)"
	done
	echo
}

# Options that give every field a share of the buckets that it has values, by `values`.
buckets() {
	while read -r field n; do
		m=$((n / $1))
		printf '%s\n' -o "field $field.buckets=$((m > 0 ? m : 1))"
	done <values
}

# check NAME: what the report says of the rows is what training touched.
check() {
	"$T" inspect "$1" --collisions rows --json | sed 's/{"table"/\n&/g' >report
	sed -n 's/.*"table":"\([^"]*\)".*"occupied":\([0-9]*\),.*/\1 \2/p' report | sort >occupied
	"$T" inspect "$1" --tables --json | sed 's/{"name"/\n&/g' |
		sed -n '/\.linear/d; s/.*"name":"\([^"]*\)".*"touched":\([0-9]*\).*/\1 \2/p' | sort >touched
	cmp occupied touched || { paste occupied touched; echo 'the report is not what was met'; exit 1; }
	sed -n 's/.*"occupied":\([0-9]*\),"collisions":\([0-9]*\),"expected":\([-0-9.e]*\).*/\1 \2 \3/p' report |
		awk -v all="$(awk '{ n += $2 } END { print n }' values)" '{ n += $1; c += $2; e += $3 } END {
			printf "\t%d values, %d rows trained, as reported; %d collide, expected %.1f\n",
				all, n, c, e }'
}

# How many values each field has.
head -n 200 rows >few.rows
"$T" -q train "$spec" -f few -o data.train=few.rows -o train.epochs=1 &&
	"$T" inspect few --collisions rows --json >report || exit 1
sed 's/{"table"/\n&/g' report | sed -n 's/.*"table":"\([^"]*\)".*"values":\([0-9]*\),.*/\1 \2/p' >values

for seed in ${SEEDS:-1 2 3}; do
	train exact "$seed" -o embedding.table=exact
	for rounds in ${ROUNDS:-1 2}; do
		for share in 2 8; do
			buckets $share >options
			set -- -o "embedding.rounds=$rounds"
			while IFS= read -r word; do set -- "$@" "$word"; done <options
			name=$([ $share = 2 ] && echo half || echo eighth)-$rounds
			train "$name" "$seed" "$@"
			check "$name"
		done
	done
done
