#!/bin/sh
# bench: rows of the result, the spec of one's own, and nothing left behind.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "bench.sh: $1" >&2; exit 1; }
small="-o embedding.buckets=500 -o dnn.hidden=8 -o train.batch_size=256"

# A directory of a long name: paths in it are not cut off.
export TMPDIR="$dir/tmp/$(printf "%0100d" 0)"
mkdir -p "$TMPDIR"
# shellcheck disable=SC2086
"$RECSYS_TRAIN" bench --rows 1024 --seconds 0.2 -j 2 --json $small > "$dir/out" || fail "exit $?"
[ "$(wc -l < "$dir/out")" = 1 ] || fail "not one line of JSON"
case $(cat "$dir/out") in
'[{"model":"deepfm","precision":"fp32",'*'"threads":1,"samples_per_s":'*'"limit_samples_per_s":'*'"limit_ratio":'*'"threads":2,'*'}]') ;;
*) fail "unexpected: $(cat "$dir/out")" ;;
esac
# What two threads make of products alone stands where two threads train, once.
[ "$(tr '{' '\n' < "$dir/out" | grep -c '"threads":2,.*"measure":"step".*,"gemm_scaling":[0-9.]*[1-9]')" = 1 ] ||
	fail "no gemm_scaling: $(cat "$dir/out")"
[ "$(tr ',' '\n' < "$dir/out" | grep -c gemm_scaling)" = 1 ] || fail "gemm_scaling: $(cat "$dir/out")"
[ -z "$(ls "$TMPDIR")" ] || fail "$(ls "$TMPDIR") stayed"
[ "$(ls "$dir/tmp")" = "${TMPDIR##*/}" ] || fail "files beside TMPDIR: $(ls "$dir/tmp")"

# The table has a line for each number of threads, and parsing.
# shellcheck disable=SC2086
"$RECSYS_TRAIN" bench --rows 1024 --seconds 0.2 -j 1 $small > "$dir/table" || fail "exit $?"
grep -q '^training step in memory  *1 .* % of the GEMM limit$' "$dir/table" || fail "no step line"
grep -q '^parsing alone  *1 .* % of a copy, .* MB/s$' "$dir/table" || fail "no parse line"
grep -q '^reading gzip  *2 .* % of inflate alone, .* MB/s$' "$dir/table" || fail "no gzip line"
grep -q '^reading the cache  *1 .* % of a copy, .* MB/s$' "$dir/table" || fail "no cache line"

# Products of two bytes, by rounding where the processor has none: so are those of the limit.
for model in deepfm dcn two_tower; do
	# shellcheck disable=SC2086
	RECSYS_TRAIN_KERNELS=baseline "$RECSYS_TRAIN" bench --model $model --rows 1024 \
		--seconds 0.2 -j 1 $small -o dnn.hidden=16 -o train.precision=bf16 > "$dir/table" ||
		fail "bf16 of $model: exit $?"
	grep -q "^$model, bf16, local, .* kernels cpu-baseline, bf16 by rounding, " "$dir/table" ||
		fail "bf16 is not named: $(head -n 1 "$dir/table")"
	grep -q '^training step in memory  *1 .* % of the GEMM limit$' "$dir/table" ||
		fail "bf16 of $model: no step line"
done

# Every model has rows and a spec; a name that is none is refused with the nearest.
models=$("$RECSYS_TRAIN" help --mdoc-models | sed -n 's/^\.It Cm //p')
[ -n "$models" ] || fail "no models listed"
for model in $models; do
	# shellcheck disable=SC2086
	"$RECSYS_TRAIN" bench --model "$model" --rows 512 --seconds 0.1 -j 1 --json $small \
		-o "tower user.hidden=8" -o "tower item.hidden=8" -o din.attention=4 -o dlrm.bottom=8 \
		> "$dir/out" 2> "$dir/err" || { cat "$dir/err" >&2; fail "--model $model: exit $?"; }
	grep -q "^\[{\"model\":\"$model\"," "$dir/out" || fail "--model $model: $(cat "$dir/out")"
done
status=0
"$RECSYS_TRAIN" bench --model depfm 2> "$dir/err" || status=$?
[ "$status" = 64 ] && grep -q "did you mean 'deepfm'" "$dir/err" || fail "--model depfm: exit $status"

# Every precision, placement and format has rows; what this machine lacks is said in its row when
# all were asked for, and refused when it alone was.
bench() {
	# shellcheck disable=SC2086
	RECSYS_TRAIN_KERNELS=baseline "$RECSYS_TRAIN" bench --rows 1024 --seconds 0.2 -j 1 $small "$@" \
		> "$dir/out" 2> "$dir/err"
}
has() { tr '{' '\n' < "$dir/out" | grep -q "$1" || fail "$2: $(cat "$dir/out" "$dir/err")"; }
number='"samples_per_s":[0-9][^,]*,"limit_samples_per_s":[0-9][^,]*,"limit_ratio":[0-9]'
bench --json --precision all --placement all --format all --record --db "$dir/kinds.db" ||
	fail "all kinds: exit $?, $(cat "$dir/err")"
case $(cat "$dir/out") in
'[{"model":"deepfm","precision":"fp32",'*'"threads":1,"samples_per_s":'*) ;;
*) fail "the first row is not DeepFM's: $(cat "$dir/out")" ;;
esac
for precision in fp32 bf16; do
	for placement in local shards; do
		for measure in step file; do
			has "^\"model\":\"deepfm\",\"precision\":\"$precision\",\(\"products\":\"[a-z]*\",\)*\"kernels\":\"cpu-[a-z0-9, ]*\",\"threads\":1,$number[^,]*,\"measure\":\"$measure\",\"placement\":\"$placement\"" \
				"$precision, $placement, $measure"
		done
	done
	has "\"precision\":\"$precision\",.*\"placement\":\"cuda\"" "$precision, cuda"
done
for format in tsv csv libsvm libffm libfm tfrecord; do
	for measure in parse gzip cache; do
		has "$number[^,]*,\"measure\":\"$measure\",\"format\":\"$format\",\"mb_per_s\":" "$format, $measure"
	done
done
ls "$TMPDIR" > "$dir/left"
[ ! -s "$dir/left" ] || fail "$(cat "$dir/left") stayed"
for key in step.1 step-shards.1 file-shards.1 parse.1 parse-tfrecord.1 gzip-csv.2 cache-libffm.1; do
	[ "$(sqlite3 "$dir/kinds.db" "SELECT count(*) FROM metrics WHERE key = 'bench.deepfm.fp32.$key.limit_ratio'")" = 1 ] ||
		fail "no figure of $key: $(sqlite3 "$dir/kinds.db" "SELECT key FROM metrics")"
done
bench --placement shards --format csv --against last --db "$dir/kinds.db" || fail "--against of kinds: exit $?"
grep -q '^deepfm.fp32.step-shards.1.limit_ratio .*%' "$dir/out" || fail "no comparison of shards: $(cat "$dir/out")"
grep -q '^deepfm.fp32.parse-csv.1.limit_ratio .*%' "$dir/out" || fail "no comparison of csv: $(cat "$dir/out")"
grep -q '^deepfm, fp32, shards, batch 256, ' "$dir/out" || fail "no placement in the head: $(cat "$dir/out")"
grep -q '^rows of csv with the fields of deepfm$' "$dir/out" || fail "no head of csv: $(cat "$dir/out")"
if bench --placement cuda; then
	grep -q "^deepfm, fp32, cuda, .* kernels cuda, " "$dir/out" || fail "not on the GPU: $(cat "$dir/out")"
	grep -q "^training step in memory .* % of the GPU's limit$" "$dir/out" || fail "no limit: $(cat "$dir/out")"
	grep -q '^limits of the GPU: .* GB/s copied there and back$' "$dir/out" || fail "no copies: $(cat "$dir/out")"
else
	grep -q 'placement.device = cuda: ' "$dir/err" || fail "cuda: $(cat "$dir/err")"
	bench --placement all || fail "--placement all: exit $?"
	grep -q '^deepfm, fp32, cuda: skipped: placement.device = cuda: ' "$dir/out" || fail "not told: $(cat "$dir/out")"
	bench --placement all --json || fail "--placement all --json: exit $?"
	has '"samples_per_s":null,.*"placement":"cuda","skipped":"placement.device = cuda: ' "cuda in JSON"
	# Reading is measured once, with the first that is there.
	bench --placement cuda --placement all --json || fail "cuda, then all: exit $?"
	[ "$(tr '{' '\n' < "$dir/out" | grep -c '"measure":"parse"')" = 1 ] || fail "reading: $(cat "$dir/out")"
fi
for wrong in "--precision bf61:did you mean 'bf16'" "--placement shard:did you mean 'shards'" \
	"--format csf:did you mean 'csv'"; do
	status=0
	# shellcheck disable=SC2086
	bench ${wrong%%:*} || status=$?
	[ "$status" = 64 ] && grep -q "${wrong#*:}" "$dir/err" || fail "$wrong: exit $status, $(cat "$dir/err")"
done

# A spec of one's own, and one whose data has no full batch.
awk 'BEGIN { for (i = 0; i < 600; i++) printf "%d\t%d\t%d\n", i % 3 == 0, i % 17, i % 29 }' > "$dir/rows.tsv"
cat > "$dir/own.ini" <<INI
[model]
type = fm
[data]
train = rows.tsv
header = no
label = 1
[field a]
column = 2
buckets = 100
[field b]
column = 3
buckets = 100
[train]
batch_size = 128
INI
"$RECSYS_TRAIN" bench "$dir/own.ini" --seconds 0.2 -j 1 --json > "$dir/out" || fail "own spec: exit $?"
grep -q '^\[{"model":"fm",' "$dir/out" || fail "own spec: $(cat "$dir/out")"
for option in --model --format; do
	status=0
	"$RECSYS_TRAIN" bench "$dir/own.ini" $option all 2> "$dir/err" || status=$?
	[ "$status" = 64 ] && grep -q "^recsys-train: error: $option and a spec" "$dir/err" ||
		fail "own spec and $option: exit $status"
done
status=0
"$RECSYS_TRAIN" bench "$dir/own.ini" --seconds 0.2 -j 1 -o train.batch_size=1000 2> "$dir/err" || status=$?
[ "$status" = 65 ] || fail "no full batch: exit $status"
grep -q 'no full batch of 1000 rows' "$dir/err" || fail "no full batch: $(cat "$dir/err")"
grep -q 'hint: give more rows' "$dir/err" || fail "no full batch: no hint"
# What is measured is what was asked for: no CPU in the place of a GPU.
status=0
"$RECSYS_TRAIN" bench "$dir/own.ini" --seconds 0.2 -o placement.device=cuda > "$dir/out" 2> "$dir/err" || status=$?
[ "$status" = 69 ] || grep -q ' kernels cuda, ' "$dir/out" || fail "device = cuda: exit $status"
status=0
"$RECSYS_TRAIN" bench --rows 0 2> "$dir/err" || status=$?
[ "$status" = 64 ] || fail "--rows 0: exit $status"

# What --record keeps, --against compares with; figures of the same run differ by no more than
# their own noise, and a run that had ten times as much is told with exit 1.
short="--rows 1024 --seconds 0.2 -j 1 --db $dir/runs.db"
# shellcheck disable=SC2086
"$RECSYS_TRAIN" bench $short --record --model fm --model deepfm $small > "$dir/out" || fail "--record: exit $?"
"$RECSYS_TRAIN" runs --db "$dir/runs.db" --json > "$dir/runs" || fail "runs: exit $?"
grep -q '"tag":"bench"' "$dir/runs" || fail "not tagged: $(cat "$dir/runs")"
# shellcheck disable=SC2086
"$RECSYS_TRAIN" bench $short --against last --model deepfm $small > "$dir/out" || fail "--against: exit $?"
grep -q '^deepfm.fp32.step.1.limit_ratio .*%' "$dir/out" || fail "no comparison: $(cat "$dir/out")"
! grep -q '^fm.fp32' "$dir/out" || fail "a figure that was not measured: $(cat "$dir/out")"
sqlite3 "$dir/runs.db" "UPDATE metrics SET value = value * 10 WHERE key LIKE 'bench.deepfm.%'"
status=0
# shellcheck disable=SC2086
"$RECSYS_TRAIN" bench $short --against last --model deepfm --max-loss 20 $small \
	> "$dir/out" 2> "$dir/err" || status=$?
[ "$status" = 1 ] || fail "a loss of 90 %: exit $status"
grep -q '^recsys-train: error: bench.deepfm.fp32..* is [89].* % less than in run r0001; wanted a loss of 20 % at most$' \
	"$dir/err" || fail "a loss of 90 %: $(cat "$dir/err")"
grep -q 'slower *$' "$dir/out" || fail "a loss of 90 % is not called slower"
for wrong in "64:--against r0007" "64:--max-loss 5" "65:--against last --model dcn"; do
	status=0
	# shellcheck disable=SC2086
	"$RECSYS_TRAIN" bench $short ${wrong#*:} $small > "$dir/out" 2> "$dir/err" || status=$?
	[ "$status" = "${wrong%%:*}" ] || fail "${wrong#*:}: exit $status, $(cat "$dir/err")"
done
# A run that is not of bench is told before anything is measured.
"$RECSYS_TRAIN" train "$dir/own.ini" -f "$dir/model" -q --db "$dir/runs.db" || fail "train: exit $?"
status=0
timeout 30 "$RECSYS_TRAIN" bench --seconds 600 --db "$dir/runs.db" --against last 2> "$dir/err" || status=$?
[ "$status" = 65 ] || fail "against a run of train: exit $status, $(cat "$dir/err")"
grep -q 'run r0002 has no figure of bench' "$dir/err" || fail "against a run of train: $(cat "$dir/err")"
status=0
"$RECSYS_TRAIN" bench --seconds 0.1 --db "$dir/none.db" --against last 2> "$dir/err" || status=$?
[ "$status" = 66 ] || fail "no database: exit $status, $(cat "$dir/err")"
[ ! -e "$dir/none.db" ] || fail "--against made a database"
