#!/bin/sh
# Retrieval: the catalogue ranked in training, eval and the run database.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

make_pairs 1500 1 >train.tsv
make_pairs 300 2 >valid.tsv
make_pairs_spec s.ini 500 8
cat >>s.ini <<'END'
learning_rate = 0.01
epochs = 4
early_stop = 0
[data]
valid = valid.tsv
END

# figure NAME: its value in the JSON line of out.
figure() {
	tail -n 1 out | sed "s/.*\"$1\":\([^,}]*\).*/\1/"
}

# B009: eval gives the figures of the best epoch, L065: and gives them again.
expect 0 "$T" train s.ini -f m --json
recall=$(figure 'recall@20') ndcg=$(figure 'ndcg@20')
[ "$(figure groups)" = 40 ] || { cat out >&2; exit 1; }
grep '"message_type":"epoch"' out | sed 's/.*"recall@20":\([^,}]*\).*/\1/' | sort -g | tail -n 1 >best
[ "$(cat best)" = "$recall" ] || { echo "best epoch: $(cat best), kept $recall" >&2; exit 1; }
for threads in 1 2 3; do
	expect 0 "$T" eval m valid.tsv --json -j $threads
	[ "$(figure 'recall@20') $(figure 'ndcg@20')" = "$recall $ndcg" ] || { cat out >&2; exit 1; }
done
expect 0 "$T" eval m valid.tsv
prints 'recall@20 0.'
prints 'groups 40   of them left out 0'

# What is monitored, kept and recorded is the figure that was named.
expect 0 "$T" train s.ini -f n --json -o train.monitor=mrr@5 -o eval.metrics=ndcg@10,hr@1
prints '"ndcg@10":'
prints '"hr@1":'
prints '"mrr@5":'
expect 0 "$T" inspect n
prints 'mrr@5'
expect 0 "$T" runs show last --metrics
prints 'valid.mrr@5'
expect 0 "$T" runs show last
prints 'mrr@5 0.'
expect 0 "$T" runs compare 1 2
prints 'valid.recall@20'
prints 'valid.hr@1'
expect 0 "$T" runs compare 1 2 --require 'mrr@5>=0.001'
expect 1 "$T" runs compare 1 2 --require 'hr@1>=0.999'

# Masks: the model's own training rows, others, none.
expect 0 "$T" eval m valid.tsv --json --seen train.tsv
[ "$(figure 'recall@20')" = "$recall" ] || exit 1
expect 0 "$T" eval m valid.tsv --json --no-mask
none=$(figure 'recall@20')
[ "$none" != "$recall" ] || { echo 'the mask does nothing' >&2; exit 1; }
cut -f1,3 train.tsv | awk -F'\t' -v OFS='\t' '{ print $1, "other", $2 }' >foreign.tsv
expect 0 "$T" eval m valid.tsv --json --seen foreign.tsv
[ "$(figure 'recall@20')" = "$none" ] || exit 1
mv train.tsv moved.tsv
expect 66 "$T" eval m valid.tsv
says '--seen'
expect 0 "$T" eval m valid.tsv --json --seen moved.tsv
[ "$(figure 'recall@20')" = "$recall" ] || exit 1
mv moved.tsv train.tsv

# Vectors and best items: one line a row, equal for any number of threads.
expect 0 "$T" predict m valid.tsv --tower user --id 2
awk -F'\t' 'NF != 9 { exit 1 } END { exit NR != 300 }' out || { head -n 3 out >&2; exit 1; }
expect 0 "$T" predict m --tower item
mv out items
awk -F'\t' 'NF != 9 || !/^i[0-9]+\t/ { exit 1 } END { exit NR != 60 }' items || { cat items >&2; exit 1; }
expect 0 "$T" predict m valid.tsv --tower user --id 2 -j 3
mv out users
# The 5 best by hand, for every row.
awk -F'\t' 'NR == FNR { name[NR] = $1; for (d = 2; d < 10; d++) v[NR, d] = $d; next }
{
	line = $1
	for (k = 0; k < 5; k++) {
		best = 0
		for (i = 1; i <= 60; i++) {
			if ((FNR, i) in used) continue
			s = 0
			for (d = 2; d < 10; d++) s += $d * v[i, d]
			if (best == 0 || s > top) { best = i; top = s }
		}
		used[FNR, best] = 1
		line = line "\t" name[best]
	}
	print line
}' items users >want
for threads in 1 3; do
	expect 0 "$T" predict m valid.tsv --top 5 --id 2 -j $threads
	same want out '--top 5'
done
expect 0 "$T" predict m valid.tsv --top 3 --json
prints '{"row":1,"items":[{"item":"i'
[ "$(wc -l <out)" -eq 300 ] || exit 1
# What was seen is not given again.
expect 0 "$T" predict m valid.tsv --top 60 --id 2 --seen train.tsv
cut -f2,3 train.tsv | sort -u >pairs
awk -F'\t' '{ for (k = 2; k <= NF; k++) print $1 "\t" $k }' out | sort -u >given
[ -s given ] && [ -z "$(comm -12 pairs given)" ] || { echo 'seen items are given' >&2; exit 1; }
{ head -n 1 valid.tsv; echo broken; } >bad.tsv
expect 3 "$T" predict m bad.tsv --top 3 --on-bad-row na
prints "2	NA"
expect 64 "$T" predict m valid.tsv --tower user --format prob
expect 64 "$T" predict m valid.tsv --tower both
expect 64 "$T" predict m valid.tsv --tower user --top 3
expect 64 "$T" predict m valid.tsv --seen train.tsv
expect 64 "$T" predict m --tower user

# Nobody to judge by: said at the first epoch, and early stop has nothing to look at.
sed 's/^1/0/' valid.tsv >zero.tsv
expect 0 "$T" train s.ini -f z --valid zero.tsv --epochs 1
says 'recall@20 is not available'
expect 0 "$T" eval m zero.tsv --json
[ "$(figure 'recall@20') $(figure groups_left_out)" = 'null 40' ] || { cat out >&2; exit 1; }

# Rows as candidates, conditions, what cannot be.
expect 0 "$T" eval m valid.tsv --candidates rows --metrics 'hr@1,auc'
expect 0 "$T" eval m valid.tsv --require 'ndcg@20>=0.001'
expect 1 "$T" eval m valid.tsv --require 'ndcg@3>=0.999'
says "required ndcg@3>=0.999, but ndcg@3 is"
expect 0 "$T" eval m train.tsv
says "in the user's training rows and count as misses; eval.mask_seen = no ranks them"
expect 64 "$T" eval m valid.tsv --by user
expect 0 "$T" eval m valid.tsv --by user --metrics logloss
expect 64 "$T" eval m valid.tsv --candidates item
expect 64 "$T" eval m valid.tsv --metrics 'ndcg20'
expect 78 "$T" check s.ini -o eval.metrics=ndgc@20
says "did you mean 'ndcg@20'"
expect 78 "$T" check s.ini -o train.monitor=recall
says "'recall@10'"
expect 78 "$T" check s.ini -o data.train=- -o train.epochs=1
says 'there is no catalogue to rank'
expect 0 "$T" check s.ini -o data.train=- -o train.epochs=1 -o eval.candidates=rows
exit 0
