# Rows, specs and variants of every model: sourced after train_data.sh, not run.
T=$RECSYS_TRAIN

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
