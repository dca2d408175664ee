#!/bin/sh
# train --require in a job: worker 0 judges, all end alike, the exit code is 1.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 2000 2 >valid.tsv
awk -F '\t' -v OFS='\t' '{ $1 = 1 - $1; print }' train.tsv >flipped.tsv
make_spec s.ini
RUN="--valid valid.tsv --workers 2 --ps 1 $JOB"

# shellcheck disable=SC2086
expect 0 "$T" train s.ini -f m $RUN --require 'auc>=last' --require 'auc>=0.5'
was=$(cat m/CURRENT)
# shellcheck disable=SC2086
expect 1 "$T" train s.ini -f m $RUN --fresh -d flipped.tsv --epochs 4 --require 'auc>=last-0.01'
says 'required auc>=last-0.01, but auc is 0.'
says "$was stays current"
[ "$(cat m/CURRENT)" = "$was" ] && [ -s m/v*.rejected/dense.bin ] || { ls m >&2; exit 1; }
expect 0 "$T" runs list --last 1
prints 'rejected'
nothing_left 'after a refusal'
exit 0
