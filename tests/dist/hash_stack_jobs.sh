#!/bin/sh
# Tables of several rounds: a job of many processes ends with the model of one, with a shard
# killed, too; deltas of it lead to the same.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 | awk -F'\t' -v OFS='\t' '{ if (NR % 17 == 0) $2 = ""; print }' >train.tsv
make_spec s.ini

as_alone 'three rounds' -o embedding.rounds=3 -o embedding.round_scale=sqrt \
	-o train.full_every=99 -o train.keep=99 -o train.checkpoint_every=0.05
grep -q '^kind = delta$' many/v*/MANIFEST || { echo 'no deltas' >&2; exit 1; }
