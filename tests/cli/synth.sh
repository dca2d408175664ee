#!/bin/sh
# synth: the same rows whoever writes them, whichever part, and what it says.
set -u
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0

# expect CODE COMMAND...: output in out, errors in err.
expect() {
	want=$1
	shift
	got=0
	"$@" >out 2>err || got=$?
	[ "$got" = "$want" ] && return 0
	echo "FAIL: exit $got, wanted $want: $*"
	cat err
	failed=1
}

# same WHAT A B
same() {
	cmp -s "$2" "$3" && return 0
	echo "FAIL: $1: $2 and $3 differ"
	failed=1
}

check() {
	what=$1
	shift
	"$@" >/dev/null && return 0
	echo "FAIL: $what"
	failed=1
}

for layout in log sequence retrieval criteo; do
	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --rows 7000 -j 1 -O "one.$layout"
	grep -Eq 'reach (auc 0\.[78]|hr@20 0\.[5-8])' err || { echo "FAIL: no figures of the truth"; failed=1; }
	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --rows 7000 -j 3
	same "threads do not matter" out "one.$layout"

	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --rows 3001
	cp out parts
	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --start 3001 --rows 3999 --no-header
	cat out >>parts
	same "ranges put together are the whole" parts "one.$layout"

	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --rows 7000 --seed 2
	if cmp -s out "one.$layout"; then
		echo "FAIL: the seed changes nothing"
		failed=1
	fi
done
check "criteo has 40 columns" \
	awk -F '\t' 'NF != 40 { exit 1 } END { exit NR != 7000 }' one.criteo
check "log has a header and 10 columns" \
	awk -F '\t' 'NF != 10 { exit 1 } END { exit NR != 7001 }' one.log

check "sequence has aligned histories" awk -F '\t' \
	'NF != 8 || split($7, a, "|") != split($8, b, "|") { exit 1 } END { exit NR != 7001 }' one.sequence
check "retrieval has positives only, and one category an item" awk -F '\t' \
	'NR > 1 && ($1 != 1 || ($6 in c && c[$6] != $7)) { exit 1 } { c[$6] = $7 }' one.retrieval

expect 0 "$RECSYS_TRAIN" synth --format csv --rows 10
check "csv has commas" awk -F , 'NF != 10 { exit 1 }' out
expect 0 "$RECSYS_TRAIN" synth --hours 3 --hour-rows 20
check "hours make rows" awk 'END { exit NR != 61 }' out
expect 0 "$RECSYS_TRAIN" synth --users 1 --items 2 --rows 5
expect 0 "$RECSYS_TRAIN" synth --rows 50
cp out steady
expect 0 "$RECSYS_TRAIN" synth --rows 50 --drift 0
check "no drift changes nothing" cmp -s steady out
expect 0 "$RECSYS_TRAIN" synth --rows 50 --drift 3
check "drift changes labels only" sh -c 'cut -f 2- steady >a; cut -f 2- out >b; cmp -s a b'
check "drift changes labels" sh -c '! cmp -s steady out'
expect 64 "$RECSYS_TRAIN" synth --rows 50 --drift 1 --layout criteo

expect 0 "$RECSYS_TRAIN" --json synth --rows 50 -O j.tsv
check "json has the figures" grep -q '"rows":50,.*"auc":0\..*"logloss":0\.' out
expect 73 "$RECSYS_TRAIN" synth --rows 50 -O j.tsv
expect 0 "$RECSYS_TRAIN" synth --rows 50 -O j.tsv --force
expect 64 "$RECSYS_TRAIN" synth --rows 0
expect 64 "$RECSYS_TRAIN" synth --layout square
expect 64 "$RECSYS_TRAIN" synth --rows 10 --hours 2
expect 73 "$RECSYS_TRAIN" synth --rows 10 -O /dev/null

expect 0 "$RECSYS_TRAIN" --json synth --layout retrieval --rows 50 -O r.tsv
check "json has the figures of the ranking" grep -q '"hr@20":0\..*"ndcg@20":0\.' out

"$RECSYS_TRAIN" help --mdoc-models >models
for layout in log sequence retrieval criteo; do
	expect 0 "$RECSYS_TRAIN" synth --layout "$layout" --rows 200 -O t.tsv --spec-out s.ini --force
	grep -q "^\.It Cm $(sed -n 's/^type = //p' s.ini | head -1)\$" models || continue
	expect 0 "$RECSYS_TRAIN" check s.ini --data
done
exit "$failed"
