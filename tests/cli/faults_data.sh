#!/bin/sh
# Faults of other programs with data: each case is named after its row.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/cases.sh"
T=$RECSYS_TRAIN

# log of counts that are negative or zero
B012_log1p_of_any_number_is_finite() {
	make_rows 200 1 | awk -F'\t' -v OFS='\t' '
		{ n = split("-2 -1 0 1e9 -1e9", v, " "); $4 = NR % 6 ? v[NR % 6] : ""; print }' >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m --valid train.tsv -o 'field x.transform=log1p' --json
	tail -n 1 out | grep -q '"valid":{.*"logloss":0\.[0-9]' || { cat out; exit 1; }
	dump m >all
	if grep -q -e nan -e inf all; then exit 1; fi
}

# a regulariser that skipped some tables
B016_l2_reaches_every_table_the_shared_one_too() {
	printf '1\ta\tb\t0.5\n' >train.tsv
	make_spec s.ini
	printf '[field again]\ncolumn = 3\nshare = item\n' >share.ini
	{ sed '/^\[embedding\]/,$d' s.ini; cat share.ini; sed -n '/^\[embedding\]/,$p' s.ini; } >two.ini
	expect 0 "$T" train two.ini -f plain
	expect 0 "$T" train two.ini -f l2 -o embedding.l2=5
	expect 0 "$T" inspect l2 --diff plain
	for table in user item user.linear item.linear; do
		grep "^table $table " out | grep -q 'changed rows 1 ' || { cat out; exit 1; }
	done
}

# bad bytes late in the file, found after days, without a place
B071_junk_near_the_end_is_named_with_its_place() {
	make_rows 2000 1 >train.tsv
	make_spec s.ini
	{ head -n 1990 train.tsv; printf '1\tu1\ti1\tna$\001\377\n'; tail -n 10 train.tsv; } >junk.tsv
	expect 65 "$T" train s.ini -f m -d junk.tsv
	says 'junk.tsv:1991:'
	says 'na$\x01'
	if grep -q "$(printf '\001')" err; then exit 1; fi
	[ ! -e m/CURRENT ] || exit 1
}

# columns that no field names are never looked at
B073_columns_that_are_not_used_may_hold_anything() {
	make_rows 300 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	awk -F'\t' -v OFS='\t' '{ print $0, "\"text, not", "1.2.3", sprintf("%5000s", "x") }' train.tsv >wide.tsv
	expect 0 "$T" train s.ini -f wide -d wide.tsv -o data.shuffle=no
	expect 0 "$T" train s.ini -f m2 -o data.shuffle=no
	dump wide >one; dump m2 >two
	same one two 'unused columns changed the model'
}

# trailing blanks and small slips of format
B080_small_slips_never_crash() {
	cat >s.ini <<-END
	[model]
	type = fm
	[data]
	train = train.svm
	format = libsvm
	index_base = 1
	[field f]
	type = multi
	buckets = 100
	max_length = 100
	END
	n=0
	for row in '1 1:1 2:1 ' '0 1:1  2:1' '1 1:1	2:1' '1 1: 2:1' '1 :1' '1 1' '1' '1 1:x' '1 x:1' \
		' 1 1:1' '1 1:1:1' '1 0:1' '1 -1:1' '1 99999999999999999999:1' '1 1:1e999' '1 1:nan'; do
		n=$((n + 1))
		printf '0 1:1\n%s\n1 2:1\n' "$row" >"t$n.svm"
		code=0
		"$T" train s.ini -f "m$n" -d "t$n.svm" >out 2>err || code=$?
		case $code in
		0) ;;
		65) says "t$n.svm:2" ;;
		*) echo "'$row' gives $code"; cat err; exit 1 ;;
		esac
	done
}

# which labels are positive
B081_label_conventions_are_declared_or_refused() {
	make_rows 300 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	dump m >want
	awk -F'\t' -v OFS='\t' '{ $1 = $1 ? 1 : -1; print }' train.tsv >minus.tsv
	expect 65 "$T" train s.ini -f m1 -d minus.tsv
	says 'minus.tsv:'
	cp train.tsv keep.tsv; cp minus.tsv train.tsv
	expect 0 "$T" train s.ini -f m2 -o data.label_values=-1,1
	dump m2 >got
	same want got '-1 and 1 give another model than 0 and 1'
	awk -F'\t' -v OFS='\t' '{ $1 = $1 ? "1.0" : "0.0"; print }' keep.tsv >train.tsv
	code=0
	"$T" train s.ini -f m3 >out 2>err || code=$?
	case $code in
	0) dump m3 >got; same want got '0.0 and 1.0 give another model' ;;
	65) says 'label' ;;
	*) exit 1 ;;
	esac
	awk -F'\t' -v OFS='\t' '{ $1 = $1 + 1; print }' keep.tsv >onetwo.tsv
	expect 65 "$T" train s.ini -f m4 -d onetwo.tsv
	{ cat keep.tsv; head -n 5 minus.tsv; } >mixed.tsv
	if grep -q '^-1' mixed.tsv; then expect 65 "$T" train s.ini -f m5 -d mixed.tsv; fi
}

# the separator of the spec is not that of the file
B085_a_wrong_separator_is_guessed() {
	make_rows 100 1 | tr '\t' ' ' >train.tsv
	make_spec s.ini
	expect 65 "$T" train s.ini -f m
	says '1 column'
	says 'space'
}

# the same text in two fields
B094_fields_have_tables_of_their_own_unless_shared() {
	awk 'BEGIN { for (i = 0; i < 200; i++) printf "%d\tv%d\tv%d\t0.5\n", i % 3 == 0, i % 20, i % 20 }' >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	dump m | awk '/^user [0-9]/ { $1 = ""; print }' >one
	dump m | awk '/^item [0-9]/ { $1 = ""; print }' >two
	[ "$(wc -l <one)" -eq "$(wc -l <two)" ] || exit 1
	if cmp -s one two; then echo 'two fields have one table'; exit 1; fi
	expect 0 "$T" train s.ini -f shared -o 'field item.share=user'
	dump shared >all
	if grep -q '^table item ' all; then exit 1; fi
	grep -q '^table user ' all || exit 1
}

run_cases "$SRCDIR/tests/cli/${0##*/}"
