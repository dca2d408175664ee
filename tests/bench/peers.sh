#!/bin/sh
# peers.sh: this program beside others, on the same rows, in turns, one after the other.
#
#	MODELS='deepfm dcn' ROUNDS=5 SECONDS_EACH=8 ROWS=500000 sh tests/bench/peers.sh
#
# First the training step in memory on one thread, beside PyTorch with sparse gradients and with
# Adam over every row; then FM from text, a whole run with two threads, beside PyTorch, Vowpal
# Wabbit (linear) and LightGBM.  Medians over the rounds.  Needs python3-torch and python3-numpy
# (PYTHON names the interpreter that has them); Vowpal Wabbit and LightGBM come from PyPI into a
# directory of this run, or are left out.
set -u
: "${RECSYS_TRAIN:?}" "${SRCDIR:?}"
T=$RECSYS_TRAIN
PYTHON=${PYTHON:-/usr/bin/python3}
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-8} rows=${ROWS:-500000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
torch=$SRCDIR/tests/bench/peers_torch.py
"$PYTHON" -c 'import numpy, torch' 2>err || { echo "skipped: $(tail -n 1 err)"; exit 77; }
"$T" --version | head -n 1
grep -m 1 'model name' /proc/cpuinfo
"$PYTHON" -c 'import torch; print("PyTorch", torch.__version__)'

median() { sort -g | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'; }
over() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }
# The last line of the output goes behind the file; what fails is told, and the run goes on without it.
into() {
	file=$1
	shift
	"$@" >one 2>err && tail -n 1 one >>"$file" || echo "failed: $*: $(tail -n 1 err)"
}

# ours MODEL BATCH: samples a second of a step
ours() {
	"$T" bench --model "$1" --rows 65536 --seconds "$seconds" -j 1 --json \
		-o train.batch_size="$2" >json || return 1
	tr ',' '\n' <json | sed -n 's/^"samples_per_s"://p' | head -n 1
}

printf '\n%-10s %6s %12s %14s %8s %13s %8s\n' model batch 'this, /s' 'sparse, /s' ratio 'dense, /s' ratio
for model in ${MODELS:-fm deepfm dcn din two_tower}; do
	for batch in 4096 1024; do
		[ "$model $batch" != 'din 4096' ] || continue
		rm -f this sparse dense
		for _ in $(seq "$rounds"); do
			into this ours "$model" "$batch"
			for kind in sparse dense; do
				into "$kind" env OMP_NUM_THREADS=1 "$PYTHON" "$torch" "$model" "$batch" \
					"$kind" "$seconds"
			done
		done
		a=$(median <this) b=$(median <sparse) c=$(median <dense)
		printf '%-10s %6s %12.0f %14.0f %8s %13.0f %8s\n' "$model" "$batch" "$a" \
			"$b" "$(over "$a" "$b")" "$c" "$(over "$a" "$c")"
	done
done

# ---- from text -----------------------------------------------------------------
"$T" -q synth --layout criteo --no-header --rows "$rows" -O all.tsv || exit 1
head -n $((rows * 9 / 10)) all.tsv >train.tsv
tail -n +$((rows * 9 / 10 + 1)) all.tsv >valid.tsv
cat >fm.ini <<INI
[model]
type = fm
[data]
train = train.tsv
format = tsv
header = no
label = 1
shuffle = no
[field I1..I13]
column = 2..14
type = numeric
transform = log1p
[field C1..C26]
column = 15..40
[embedding]
buckets = 100000
dim = 16
optimizer = adagrad
learning_rate = 1
init_stddev = 0.003
[linear]
learning_rate = 0.3
[train]
batch_size = 2048
epochs = 1
optimizer = adagrad
learning_rate = 0.02
threads = 2
INI
# Rows as Vowpal Wabbit reads them.
for part in train valid; do
	awk -F'\t' '{ printf "%d |a", ($1 > 0 ? 1 : -1)
		for (i = 2; i <= 14; i++) if ($i != "") printf " I%d:%g", i - 1, ($i > 0 ? log(1 + $i) : 0)
		for (i = 15; i <= 40; i++) printf " C%d=%s", i - 14, $i; print "" }' $part.tsv >$part.vw
done
python3 -m venv venv >/dev/null 2>&1 && venv/bin/pip -q install vowpalwabbit lightgbm numpy >/dev/null 2>&1 ||
	echo 'no PyPI: Vowpal Wabbit and LightGBM are left out'

# Each prints "rows-per-second logloss".
now() { date +%s.%N; }
rate() { awk "BEGIN { print $1 / ($3 - $2) }"; }
fm_ours() {
	rm -rf model
	begin=$(now)
	"$T" -q train fm.ini -f model -j 2 || return 1
	end=$(now)
	"$T" eval model valid.tsv --metrics logloss --json >json || return 1
	echo "$(rate "$(wc -l <train.tsv)" "$begin" "$end") $(sed 's/.*"logloss":\([0-9.]*\).*/\1/' json)"
}
vw_linear() {
	rm -f vw.model vw.out
	begin=$(now)
	venv/bin/python -m vowpalwabbit -d train.vw --loss_function logistic -b 22 --quiet -f vw.model ||
		return 1
	end=$(now)
	venv/bin/python -m vowpalwabbit -d valid.vw -t -i vw.model --link logistic --quiet -p vw.out ||
		return 1
	echo "$(rate "$(wc -l <train.vw)" "$begin" "$end") $(paste vw.out valid.vw | awk '{ p = $1 < 1e-7 ? 1e-7 : $1 > 1 - 1e-7 ? 1 - 1e-7 : $1
		s -= log($2 > 0 ? p : 1 - p) } END { print s / NR }')"
}
for _ in $(seq "$rounds"); do
	into t-this fm_ours
	into t-torch env OMP_NUM_THREADS=2 "$PYTHON" "$torch" --text all.tsv
	[ -x venv/bin/pip ] || continue
	into t-vw_linear vw_linear
	into t-lightgbm env OMP_NUM_THREADS=2 venv/bin/python "$SRCDIR/tests/bench/peers_lightgbm.py" \
		train.tsv valid.tsv
done
printf '\nFrom text, %s rows, two threads\n%-10s %12s %8s %10s\n' "$rows" what 'rows/s' 'this is' logloss
a=$(cut -d' ' -f1 t-this | median)
for what in this torch vw_linear lightgbm; do
	[ -s "t-$what" ] || continue
	b=$(cut -d' ' -f1 "t-$what" | median)
	printf '%-10s %12.0f %8s %10.5f\n' "$what" "$b" "$(over "$a" "$b")" "$(cut -d' ' -f2 "t-$what" | median)"
done
