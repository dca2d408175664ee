#!/bin/sh
# The log of synth --layout sequence has what an attention finds and a mean blurs:
# din beats the mean of the same histories by far.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

"$T" synth --layout sequence --rows 30000 -O rows.tsv --spec-out s.ini -q || exit 1
"$T" synth --layout sequence --rows 5000 --start 30000 -O valid.tsv -q || exit 1
for pooling in attention mean; do
	expect 0 "$T" train s.ini --valid valid.tsv -f m --fresh -q --json -o din.pooling=$pooling
	grep '"summary"' out | sed 's/.*"auc":\([0-9.]*\).*/\1/' >$pooling
done
paste attention mean | awk '{ print "attention " $1 ", mean " $2; exit !($1 > 0.7 && $1 > $2 + 0.05) }'
