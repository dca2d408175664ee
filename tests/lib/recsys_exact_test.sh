#!/bin/sh
# librecsys, ONNX and arrays of a model whose tables are exact: scores of known ids and of
# others are those of predict.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 3000 1 >train.tsv
make_rows 500 2 | sed 's/\ti3/\tnew3/' >rows.tsv
make_spec s.ini
expect 0 "$T" -q train s.ini -f m -o embedding.table=exact
expect 0 "$T" predict m rows.tsv --format logit
cp out want

# Exports prove themselves against the trainer.
expect 0 "$T" export m --to onnx -O m.onnx --verify rows.tsv
expect 0 "$T" export m --to savedmodel -O saved --verify rows.tsv
expect 0 "$T" export m --to npz -O m.npz
grep -q '"unknown_row":39' m.onnx.inputs.json || { cat m.onnx.inputs.json; exit 1; }
expect 0 "$T" predict m rows.tsv --format inputs
grep -c '"item":39' out | grep -qx "$(cut -f3 rows.tsv | grep -c new)" ||
	{ echo 'rows of unknown ids'; exit 1; }

library_scores m rows.tsv want
