#!/bin/sh
# Every model of the program: 1, 2 and 3 threads, and runs stopped or killed in the
# middle and resumed, end with one and the same canonical dump; what is saved scores
# and predicts as what was trained, elsewhere and with everything else gone.
# MODELS="dcn din" looks at these only; KILLS (default 2) interruptions a variant.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
KILLS=${KILLS:-2}
kills=0

# Clicks with aligned histories for all models, positives only for retrieval.
"$T" synth --layout sequence --users 200 --items 80 --rows 2500 -O train.tsv -q || exit 1
"$T" synth --layout sequence --users 200 --items 80 --rows 600 --start 2500 -O valid.tsv -q || exit 1
"$T" synth --layout retrieval --users 200 --items 80 --rows 2500 -O taken.tsv -q || exit 1
"$T" synth --layout retrieval --users 200 --items 80 --rows 300 --start 2500 -O taken_valid.tsv -q || exit 1

cat >clicks.ini <<'END'
[data]
header = yes
label = click
group = user
[field user]
buckets = 300
[field device]
buckets = 10
[field when]
column = time
type = numeric
transform = standardize
[field item]
buckets = 150
[field category]
buckets = 50
[field clicked_items]
type = sequence
share = item
max_length = 20
[field clicked_categories]
type = sequence
share = category
max_length = 20
[embedding]
dim = 4
learning_rate = 0.1
init_stddev = 0.05
[dnn]
hidden = 12,8
[din]
attention = 6
[dlrm]
bottom = 6
[tower user]
fields = user,device,when,clicked_items,clicked_categories
hidden = 12,8
[tower item]
fields = item,category
hidden = 12,8
[items]
key = item
fields = item,category
[eval]
candidates = rows
[train]
batch_size = 150
slots = 4
epochs = 3
early_stop = 0
learning_rate = 0.01
END
cat >taken.ini <<'END'
[data]
header = yes
label = taken
group = user
[field user]
buckets = 300
[field age]
type = numeric
transform = standardize
[field country]
buckets = 20
[field item]
buckets = 150
[field category]
buckets = 50
[embedding]
dim = 4
learning_rate = 0.1
init_stddev = 0.05
[tower user]
fields = user,age,country
hidden = 12,8
[tower item]
fields = item,category
hidden = 12,8
[items]
key = item
[eval]
metrics = ndcg@10
candidates = catalogue
[train]
monitor = ndcg@10
batch_size = 150
slots = 4
epochs = 3
early_stop = 0
learning_rate = 0.01
END

# variants MODEL: lines of NAME DATA OPTION...
variants() {
	case $1 in
	*) echo "plain clicks" ;;
	esac
	case $1 in
	deepfm)
		echo "negatives clicks -o items.negatives=2" ;;
	dcn)
		echo "v1 clicks -o dcn.version=v1"
		echo "rank clicks -o dcn.rank=3"
		echo "experts clicks -o dcn.rank=3 -o dcn.experts=2"
		echo "stacked clicks -o dcn.structure=stacked -o dnn.batch_norm=yes" ;;
	din)
		echo "dice clicks -o din.activation=dice"
		echo "softmax clicks -o din.softmax=yes -o dnn.activation=dice"
		echo "mean clicks -o din.pooling=mean"
		echo "sum clicks -o din.pooling=sum -o dnn.dropout=0.2" ;;
	two_tower)
		echo "softmax taken -o model.loss=softmax"
		echo "learned taken -o model.loss=softmax -o two_tower.learn_temperature=yes -o two_tower.logq=no"
		echo "sampled taken -o model.loss=sampled_softmax -o items.negatives=40"
		echo "popular taken -o model.loss=sampled_softmax -o items.negatives=40 -o items.sample=popularity"
		echo "full taken -o model.loss=full_softmax -o two_tower.similarity=dot"
		echo "bpr taken -o model.loss=bpr -o items.negatives=3"
		echo "ccl taken -o model.loss=ccl -o items.negatives=10"
		echo "within taken -o model.loss=bpr -o items.negatives=2 -o items.within=category" ;;
	esac
}

# interrupt DIRECTORY: trains with the arguments in "$@" until it ends, stopped or
# killed up to KILLS times on the way.
interrupt() {
	dir=$1
	shift
	n=0 resume=
	while :; do
		"$T" "$@" -f "$dir" $resume >/dev/null 2>err & pid=$!
		resume=--resume
		if [ "$n" -lt "$KILLS" ]; then
			sleep "0.$(awk -v s="$((kills + n))" 'BEGIN { srand(s); printf "%02d", 3 + 20 * rand() }')"
			if [ $((n % 2)) = 0 ]; then kill -9 $pid; else kill -TERM $pid; fi 2>/dev/null
		fi
		code=0
		wait $pid 2>/dev/null || code=$?
		case $code in
		0) break ;;
		137 | 143) n=$((n + 1)) ;;
		*) echo "$dir: exit $code" >&2; cat err >&2; exit 1 ;;
		esac
	done
	kills=$((kills + n))
}

# try MODEL NAME DATA OPTION...
try() {
	model=$1 name=$1.$2 data=$3
	shift 3
	rm -rf m away
	case $data in
	clicks) train=train.tsv valid=valid.tsv shown='auc|logloss' ;;
	*) train=taken.tsv valid=taken_valid.tsv shown=ndcg@10 ;;
	esac
	set -- train $data.ini -d $train --valid $valid -o "model.type=$model" "$@" -q
	for j in 1 2 3; do
		expect 0 "$T" "$@" -f m --fresh -j $j --json
		grep '"summary"' out >summary
		dump m >got
		[ $j = 1 ] && cp got want
		same want got "$name: $j threads give another model"
	done
	[ "$(wc -l <want)" -gt 20 ] || { echo "$name: the dump is empty" >&2; exit 1; }
	interrupt resumed "$@" -o train.checkpoint_every=0.02 -j 2
	dump resumed >got
	same want got "$name: a resumed run gives another model"
	rm -rf resumed

	# B026: the figures of the last epoch are those of what was saved.
	sed -n 's/.*"valid":{\([^}]*\)}.*/\1/p' summary | tr , '\n' |
		grep -E "\"($shown)\"" |
		grep -v null >figures
	[ -s figures ] || { echo "$name: no figures in the summary" >&2; cat summary >&2; exit 1; }
	expect 0 "$T" eval m $valid --json -j 2
	while read -r figure; do
		prints "$figure"
	done <figures
	# B026: and B028: a copy elsewhere, without spec and training rows, predicts the same.
	expect 0 "$T" predict m $valid -j 1
	cp out want
	mkdir away hidden
	cp -r m away
	mv ./*.ini taken.tsv train.tsv hidden
	expect 0 "$T" predict away/m $valid -j 3
	mv hidden/* .
	rmdir hidden
	same want out "B026: $name predicts otherwise after it was moved"
	[ "$(sort -u want | wc -l)" -gt 50 ] || { echo "$name: predictions are all alike" >&2; exit 1; }
}

"$T" help --mdoc-models | sed -n 's/^\.It Cm //p' >models
[ -s models ] || { echo 'no models' >&2; exit 1; }
for model in ${MODELS:-$(cat models)}; do
	variants "$model" >list
	while read -r variant data options; do
		# shellcheck disable=SC2086
		try "$model" "$variant" "$data" $options </dev/null
	done <list
	[ $? = 0 ] || exit 1
done
echo "$(cat models | wc -l) models, $kills interruptions"
exit 0
