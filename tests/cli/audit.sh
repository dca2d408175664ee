#!/bin/sh
# audit: parts of the logit that add up to it, and what a blank cell does, for every model.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/models_data.sh"
rows=12
head -n $((rows + 1)) valid.tsv >few.tsv

# parts FILE: lines "logit ROW x", "bias ROW x", "deep ROW x", "ROW FIELD linear pairs deep total".
parts() {
	sed 's/,"fields":\[/\
/;s/},{/\
/g' "$1" | awk '
	function get(key) {
		if (!match($0, "\"" key "\":[^,}]*"))
			return 0
		return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
	}
	/"row":/ { row = get("row"); print "logit", row, get("logit")
		print "bias", row, get("bias"); print "deep", row, get("deep"); next }
	{ field = get("field"); gsub(/"/, "", field)
		print row, field, get("linear"), get("pairs"), get("deep"), get("total") }'
}

# blank COLUMN: few.tsv without its values.
blank() {
	awk -F '\t' -v OFS='\t' -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 { $c = "" } { print } END { exit c == 0 }' few.tsv
}

# close_to FILE FILE: numbers of two files, line by line.
close_to() {
	paste "$1" "$2" | awk -v what="$3" '
		function far(a, b) { a = a - b; if (a < 0) a = -a; return a }
		!(far($1, $2) < 3e-5 * (1 + ($1 < 0 ? -$1 : $1))) { print what, $0; bad = 1 }
		END { exit bad || NR == 0 }' >&2 || exit 1
}

for model in fm wide_deep deepfm dcn din dlrm two_tower; do
	expect 0 "$T" train clicks.ini -d train.tsv -o model.type=$model -f $model -o train.epochs=1
	expect 0 "$T" predict $model few.tsv --format logit
	mv out logits
	expect 0 "$T" audit $model few.tsv --all --json
	parts out >parts
	awk '$1 == "logit" { print $3 }' parts >got
	close_to logits got "$model: the logit is not the model's:"
	awk '$1 == "bias" || $1 == "deep" { sum[$2] += $3; next } $1 == "logit" { n = $2; next }
		{ sum[$1] += $3 + $4; if (!(($3 + $4 + $5 - $6) ^ 2 < 1e-18))
			print "total" }
		END { for (i = 1; i <= n; i++) print sum[i] }' parts >got
	close_to logits got "$model: bias, linear, pairs and deep part do not add up:"
	case $model in fm|wide_deep|deepfm) continue ;; esac
	for field in user device item category; do
		blank $field >blank.tsv
		expect 0 "$T" predict $model blank.tsv --format logit
		paste logits out | awk '{ print $1 - $2 }' >want
		awk -v f=$field '$2 == f && NF == 6 { print $5 }' parts >got
		close_to want got "$model: $field, what a blank cell does:"
		awk '$1 > 1e-4 || $1 < -1e-4 { n++ } END { exit n < 3 }' want || {
			echo "$model: $field does nothing, so that this tests nothing" >&2; exit 1; }
	done
done

# First order of a field: the weight that the dump has.
expect 0 "$T" audit deepfm few.tsv --row 5 --json
id=$(sed 's/.*"field":"user","value":"[^"]*","ids":\[\([0-9]*\)\].*/\1/' out)
want=$("$T" inspect deepfm --dump text --field user |
	awk -v id="$id" '$1 == "user.linear" && $2 == id { print $3 }')
got=$(parts out | awk '$2 == "user" && NF == 6 { print $3 }')
awk -v a="$want" -v b="$got" 'BEGIN { exit !(a != "" && (a - b) ^ 2 < 1e-16) }' || {
	echo "linear of user: $got, the dump has '$want'" >&2; exit 1; }

# For people: the value and its bucket, what was never trained, the rest in one line.
sed -n 6p few.tsv | sed 's/^/x/;s/^x//' >row
user=$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "user") c = i } NR == 6 { print $c }' few.tsv)
expect 0 "$T" audit deepfm few.tsv --row 5
prints 'row 5   label '
prints '  deep part '
grep -q "^  user  *$user  *$id " out || { cat out >&2; exit 1; }
prints '* change of the deep part'
expect 0 "$T" audit deepfm few.tsv --top 2
[ "$(grep -c '^  [a-z]' out)" -eq 3 ] || { cat out >&2; exit 1; }
prints '  5 more '
expect 0 "$T" audit fm few.tsv
grep -q 'deep' out && { cat out >&2; exit 1; }
{ head -n 1 few.tsv; sed -n "6s/$user/nobody/p" few.tsv; } >unknown.tsv
expect 0 "$T" audit deepfm unknown.tsv
grep -q '^  user  *nobody .*' out || { cat out >&2; exit 1; }
blank user >blank.tsv
expect 0 "$T" audit deepfm - <blank.tsv
grep -q '^  user  *(blank)  *missing ' out || { cat out >&2; exit 1; }

expect 65 "$T" audit deepfm few.tsv --row 13
says '--row 13: the data have 12 rows'
expect 64 "$T" audit deepfm
expect 64 "$T" audit deepfm few.tsv --row 1 --all
expect 66 "$T" audit nowhere few.tsv

# Weighted lists, numbers with a value of their own where missing, and crosses.
awk 'BEGIN { s = 3; for (i = 0; i < 400; i++) { a = i % 7; b = (i * 5) % 11; c = i % 3
	printf "%d\tt%d:%.1f|t%d:2\t%s\tc%d\n", (a + c) % 2, a, b / 4 + 0.5, b,
		(i % 5 == 0 ? "" : b), c } }' >lists.tsv
cat >lists.ini <<'END'
[model]
type = fm
[data]
format = tsv
label = 1
[field tags]
column = 2
type = multi
multi_separator = |
weight_separator = :
combiner = sum
buckets = 40
[field n]
column = 3
type = numeric
missing_value = 2
[field c]
column = 4
buckets = 8
[field tc]
type = cross
fields = tags,c
buckets = 100
[embedding]
dim = 3
init_stddev = 0.1
[train]
batch_size = 50
END
expect 0 "$T" train lists.ini -d lists.tsv -f lists
head -n 10 lists.tsv >few.tsv
expect 0 "$T" predict lists few.tsv --format logit
mv out logits
expect 0 "$T" audit lists few.tsv --all --json
grep -q '"field":"tags","value":"t0:0.5|t0:2","ids":\[[0-9]*,[0-9]*\]' out || { cat out >&2; exit 1; }
parts out >parts
awk '$1 == "bias" { sum[$2] += $3 } $1 == "logit" { n = $2 } NF == 6 { sum[$1] += $3 + $4 }
	END { for (i = 1; i <= n; i++) print sum[i] }' parts >got
close_to logits got 'weighted lists: bias, linear and pairs do not add up:'
