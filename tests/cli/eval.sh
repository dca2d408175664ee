#!/bin/sh
# eval: its figures, what it warns about and its exit codes.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_rows 700 2 >valid.tsv
make_spec s.ini

# figure NAME: its value in the JSON line of out.
figure() {
	tail -n 1 out | sed "s/.*\"$1\":\([^,}]*\).*/\1/"
}

# close A B: equal within 1e-6.
close() {
	awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-6 && d > -1e-6) }' ||
		{ echo "$3: $1 is not $2" >&2; exit 1; }
}

expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 3 --json
want_auc=$(figure auc) want_logloss=$(figure logloss)

# B009: the figures of training, L065: again and again, on any number of threads.
for threads in 1 2 3 2; do
	expect 0 "$T" eval m valid.tsv --json -j $threads
	close "$(figure auc)" "$want_auc" 'B009: auc'
	close "$(figure logloss)" "$want_logloss" 'B009: logloss'
	[ "$(figure rows)" = 700 ] || exit 1
	[ ! -s err ] || { cat err >&2; exit 1; }
	[ ! -e last ] || same last out 'the figures depend on threads'
	cp out last
done
expect 0 "$T" eval "m/$(cat m/CURRENT)" valid.tsv --json
same last out 'a version directory gives other figures'
expect 0 "$T" eval m/ - --json <valid.tsv
same last out 'standard input gives other figures'
gzip -c valid.tsv >valid.tsv.gz
expect 0 "$T" eval m valid.tsv.gz --json
same last out 'gzip gives other figures'

expect 0 "$T" eval m valid.tsv --calibration
prints 'rows 700   positives '
prints 'best constant'
prints 'predicted mean'

# By a field: the groups add up, overall figures are the same.
expect 0 "$T" eval m valid.tsv --by user
[ "$(sed -n 's/^u[0-9]* *\([0-9,]*\) .*/\1/p' out | tr -d , | awk '{ n += $1 } END { print n }')" = 700 ] ||
	{ cat out >&2; exit 1; }
expect 0 "$T" eval m valid.tsv --by user --json
close "$(sed 's/.*"rows":700,"auc":\([0-9.]*\).*/\1/' out)" "$want_auc" '--by changed the figures'
expect 64 "$T" eval m valid.tsv --by usr
says "did you mean 'user'"

# Metrics by name.
expect 0 "$T" eval m valid.tsv --metrics calibration,best_constant --json
prints '"calibration":'
grep -q '"auc"' out && exit 1
expect 64 "$T" eval m valid.tsv --metrics auc,loglos
says "did you mean 'logloss'"

# Conditions.
expect 0 "$T" eval m valid.tsv --require 'auc>=0.01' --require 'logloss<5'
expect 1 "$T" eval m valid.tsv --require 'auc>=0.999'
says 'required auc>=0.999, but auc is'
prints 'rows 700'
expect 64 "$T" eval m valid.tsv --require 'auc is good'
expect 64 "$T" eval m valid.tsv --require 'auc>=last'
says "'last' is known in training only"

# B009: figures of groups too; they are left out and counted where there is one class.
expect 0 "$T" train s.ini -f g --valid valid.tsv --json -o data.group=2 -o train.monitor=ndcg@5 \
	-o eval.metrics=auc,gauc,hr@3
want_gauc=$(figure gauc) want_ndcg=$(figure 'ndcg@5')
for threads in 1 3; do
	expect 0 "$T" eval g valid.tsv --json -j $threads
	close "$(figure gauc)" "$want_gauc" 'B009: gauc'
	close "$(figure 'ndcg@5')" "$want_ndcg" 'B009: ndcg@5'
done
expect 0 "$T" eval g valid.tsv --by item --metrics gauc,mrr
prints 'gauc'
prints '   of them left out '
expect 78 "$T" check s.ini -o eval.metrics=gauc
says 'name the column of the user in [data] group'

# The calibration table holds every row once.
expect 0 "$T" eval m valid.tsv --calibration --json
tail -n 1 out | sed 's/.*"calibration_table":\[//; s/\].*//' | tr '{' '\n' |
	sed -n 's/^"rows":\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { exit !(n == 700 && NR == 10) }' ||
	{ cat out >&2; exit 1; }

# B007: one class.
awk -F'\t' '$1 == 0' valid.tsv >negative.tsv
expect 0 "$T" eval m negative.tsv --json
[ "$(figure auc)" = null ] || { cat out >&2; exit 1; }
figure logloss | grep -q '^[0-9]' || exit 1
says "0 positive and $(wc -l <negative.tsv | tr -d ' ') negative rows"
[ "$(wc -l <err)" -eq 1 ] || { cat err >&2; exit 1; }
expect 0 "$T" eval m negative.tsv
prints 'auc n.a.'
expect 1 "$T" eval m negative.tsv --require 'auc>=0.5'

# L064: labels of the other way round.
awk -F'\t' -v OFS='\t' '{ $1 = 1 - $1; print }' valid.tsv >swapped.tsv
expect 0 "$T" eval m swapped.tsv
says 'below 0.5'

# B090: ids that training never saw are counted.
awk -F'\t' -v OFS='\t' '{ $2 = "new" NR; $3 = "new" NR; print }' valid.tsv >unseen.tsv
expect 0 "$T" eval m unseen.tsv --json
awk -v u="$(figure unseen)" 'BEGIN { exit !(u > 0.1 && u <= 1) }' || { cat out >&2; exit 1; }
expect 0 "$T" eval m train.tsv --json
[ "$(figure unseen)" = 0 ] || { cat out >&2; exit 1; }

# Bad rows follow the policy of the model's spec; the label must be there.
{ cat valid.tsv; echo '2	u1	i1	0.5'; } >bad.tsv
expect 65 "$T" eval m bad.tsv
says 'bad.tsv:701'
expect 0 "$T" train s.ini -f skip -o data.on_bad_row=skip
expect 3 "$T" eval skip bad.tsv
prints 'skipped 1'
expect 0 "$T" eval skip bad.tsv --ok-partial
cut -f2- valid.tsv >nolabel.tsv
expect 65 "$T" eval m nolabel.tsv
: >empty.tsv
expect 65 "$T" eval m empty.tsv
expect 65 "$T" eval m empty.tsv --by user
expect 66 "$T" eval m nowhere.tsv
expect 66 "$T" eval nowhere valid.tsv
expect 64 "$T" eval m
exit 0
