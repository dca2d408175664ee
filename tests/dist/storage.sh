#!/bin/sh
# Weights of two bytes: rows travel as fp32 and are rounded where they are, so that a run of
# many processes ends with the model of one, also when a shard dies.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_spec s.ini

for storage in 'bf16 hashed' 'fp16 hashed' 'bf16 exact'; do
	as_alone "$storage" -o "embedding.storage=${storage% *}" -o embedding.dim=5 \
		-o "embedding.table=${storage#* }" -o train.checkpoint_every=0.2
	grep -q "^table user .* storage ${storage% *}" want || exit 1
done
