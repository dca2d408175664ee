#!/bin/sh
# train: what it prints, writes and refuses.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini

# Quiet when stderr is no terminal; the summary is the last line of --json.
expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 2 --json
[ ! -s err ] || { cat err >&2; exit 1; }
tail -n 1 out | grep -q '^{"message_type":"summary","run":"r0001","status":"ok","rows":2000,.*"valid":{.*"auc":0\.[5-9].*"model":"m/v00000' || { cat out; exit 1; }
[ -f m/CURRENT ] && [ -f "m/$(cat m/CURRENT)/MANIFEST" ] || exit 1

# The table appears when asked for, on stderr only.
expect 0 "$T" train s.ini -f m2 --valid valid.tsv -P 2.0
[ ! -s out ] || exit 1
says 'average     since'
says 'epoch 1/1   1,000 rows, 0 skipped'
says 'best constant'
says 'saved'
[ "$(grep -c '^0\.' err)" -ge 4 ] || { cat err >&2; exit 1; }

expect 0 "$T" train s.ini -f m3 -P kv
says 'progress=continue'
[ "$(tail -n 1 err)" = progress=end ] || exit 1

# A directory with a model is added to only when told how.
expect 73 "$T" train s.ini -f m
says 'holds a trained model'
expect 0 "$T" train s.ini -f m --fresh
expect 0 "$T" train s.ini -f m -i m

# A dry run writes nothing.
expect 0 "$T" train s.ini -f m9 -n
[ ! -e m9 ] || exit 1

expect 64 "$T" train s.ini
expect 64 "$T" train s.ini -f m9 -P fast
expect 64 "$T" train s.ini -f m9 -i m --resume
expect 66 "$T" train s.ini -f m9 -d no-such-file.tsv
says 'no-such-file.tsv'
expect 66 "$T" train no-such-spec.ini -f m9
expect 78 "$T" train s.ini -f m9 -o train.lerning_rate=1

# C 39: no rows, header only, blank lines only.
: >empty.tsv
printf '\n\n' >blank.tsv
for f in empty blank; do
	expect 65 "$T" train s.ini -f "e-$f" -d $f.tsv
	[ ! -e "e-$f/CURRENT" ] || exit 1
done
expect 65 "$T" train s.ini -f m9 --valid empty.tsv

expect 0 "$T" train s.ini -f m10 --expect-rows 1000
expect 65 "$T" train s.ini -f m11 --expect-rows 999
says '--expect-rows'
[ ! -e m11/CURRENT ] || exit 1

# Bad rows under the skip policy: 3, or 0 when that is fine.
{ cat train.tsv; echo 'x	u1	i1	0.5'; } >bad.tsv
expect 65 "$T" train s.ini -f b1 -d bad.tsv
expect 3 "$T" train s.ini -f b2 -d bad.tsv -o data.on_bad_row=skip
expect 0 "$T" train s.ini -f b3 -d bad.tsv -o data.on_bad_row=skip --ok-partial --json
tail -n 1 out | grep -q '"rows":1000,.*"rows_read":1001,"rows_skipped":1' || { cat out; exit 1; }
# The record counts what all epochs trained, and skipped.
expect 3 "$T" train s.ini -f b5 -d bad.tsv -o data.on_bad_row=skip --epochs 2
expect 0 "$T" runs show last --db runs.db
prints '2,000 trained, 2 skipped'
# B066: the bad row changed nothing.
expect 0 "$T" train s.ini -f b4
dump b4 >one; dump b3 >two
same one two 'B066: a skipped row changed the weights'

# Data from a command, whose failure is one of ours.
expect 0 "$T" train s.ini -f c1 --data-command 'cat train.tsv' -o data.shuffle=no
# The record knows how large the version is.
expect 0 "$T" runs show last --db runs.db --json
prints "\"bytes\":$(cat c1/v000001/* | wc -c)"
expect 65 "$T" train s.ini -f c2 --data-command 'cat train.tsv; exit 3'
[ ! -e c2/CURRENT ] || exit 1
exit 0
