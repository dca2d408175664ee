#!/bin/sh
# train --require: the result becomes current only when it is good enough.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 3000 1 >train.tsv
make_rows 2000 2 >valid.tsv
awk -F '\t' -v OFS='\t' '{ $1 = 1 - $1; print }' train.tsv >flipped.tsv
awk -F '\t' '$1 == 0' valid.tsv >negative.tsv
make_spec s.ini
V='--valid valid.tsv'

# stays, moves: whether CURRENT is another than it was.
was=
stays() { [ "$(cat m/CURRENT)" = "$was" ] || { echo "current is $(cat m/CURRENT)" >&2; exit 1; }; }
moves() {
	[ "$(cat m/CURRENT)" != "$was" ] || { echo "current is still $was" >&2; exit 1; }
	was=$(cat m/CURRENT)
}

# What is no condition, or has no rows to be judged on, is told before any work.
expect 64 "$T" train s.ini -f m $V --require 'auc is good'
expect 64 "$T" train s.ini -f m $V --require 'auk>=0.5'
expect 78 "$T" train s.ini -f m --require 'auc>=0.5'
says "'auc>=0.5' is judged on data.valid, which is not set"
[ -z "$(ls -d m/v* 2>/dev/null)" ] || exit 1

# The first result has no last to be compared with, but must reach a number.
expect 1 "$T" train s.ini -f m $V --require 'auc>=0.99'
says 'required auc>=0.99, but auc is 0.'
says 'on 2000 rows of data.valid'
says "kept in 'm/v000001.rejected'"
[ ! -e m/CURRENT ] && [ -s m/v000001.rejected/dense.bin ] || exit 1
grep -q '^require: required auc>=0.99' m/v000001.rejected/REJECTED || exit 1
expect 0 "$T" runs list
prints 'rejected'
expect 0 "$T" train s.ini -f m $V --epochs 4 --require 'auc>=last' --require 'auc>=0.5' --json
moves
prints '"gate":"accepted"'
grep -q 'auc>=last is passed over, nothing to compare with' out || { cat out >&2; exit 1; }
grep -q '^period=-	valid.rows=2000	' m/$was/figures.txt || exit 1

# The same again is no worse; what learned the opposite is; it is kept and the former serves.
expect 0 "$T" train s.ini -f m $V --fresh --epochs 4 --seed 2 --require 'auc>=last-0.02' \
	--require 'logloss<=last+0.1' --json
moves
prints 'of the current model, change '
for how in --fresh '-i m'; do
	expect 1 "$T" train s.ini -f m $V $how -d flipped.tsv --epochs 8 \
		--require 'auc>=last-0.005'
	says 'required auc>=last-0.005, but auc is 0.'
	says '.rejected'
	says "$was stays current"
	stays
	grep -q 'warning: the run record' err && { cat err >&2; exit 1; }
done
expect 0 "$T" runs show last
prints '.rejected'
[ "$(ls m/v*.rejected/dense.bin | wc -l)" = 3 ] || { ls m >&2; exit 1; }
expect 0 "$T" eval m valid.tsv --require 'auc>=0.7'

# Killed when it was saved but not current yet: resumed, it is judged again.
expect 137 env RECSYS_TRAIN_FAILPOINT=checkpoint.before_current=kill "$T" train s.ini -f m $V \
	--fresh --epochs 4 --seed 3 --require 'auc>=last-0.05'
stays
expect 1 "$T" train s.ini -f m $V --resume --epochs 4 --seed 3 --require 'auc>=0.99'
stays
expect 137 env RECSYS_TRAIN_FAILPOINT=checkpoint.before_current=kill "$T" train s.ini -f m $V \
	--fresh --epochs 4 --seed 3 --require 'auc>=last-0.05'
expect 0 "$T" train s.ini -f m $V --resume --epochs 4 --seed 3 --require 'auc>=last-0.05' -v
moves
expect 0 "$T" train s.ini -f m $V --resume --epochs 4 --seed 3 --require 'auc>=last-0.05'
says 'nothing to resume'
stays

# Weights of the best epoch are judged, not the last.
expect 0 "$T" train s.ini -f m $V --fresh --epochs 6 -o train.learning_rate=0.3 \
	-o embedding.learning_rate=2 --require 'auc>=last-0.1'
moves

# A figure that is not defined meets nothing.
expect 1 "$T" train s.ini -f m --valid negative.tsv --fresh --require 'auc>=0.1'
says 'auc is not defined: '
says 'no positives'

# A current model whose spec does not fit the rows is known by its figures.
awk -F '\t' -v OFS='\t' '{ print $2, $1, $3, $4 }' train.tsv >other.tsv
awk -F '\t' -v OFS='\t' '{ print $2, $1, $3, $4 }' valid.tsv >other_valid.tsv
sed 's/^label = 1/label = 2/; s/^column = 2/column = 1/' s.ini >other.ini
expect 0 "$T" train other.ini -f m -d other.tsv --valid other_valid.tsv --fresh --epochs 4 \
	--require 'auc>=last-0.1'
says 'the current model cannot be scored on data.valid'
expect 1 "$T" train other.ini -f m -d other.tsv --valid other_valid.tsv --fresh --epochs 1 \
	-o train.learning_rate=1e-9 -o embedding.learning_rate=1e-9 --require 'auc>=last-0.1'
exit 0
