#!/bin/sh
# A version that was refused or put aside and is a delta can be inspected as long as it is
# listed whole: neither gc nor a later run takes away what it is made of.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_rows 100 2 >valid.tsv
make_spec s.ini
O='-o train.full_every=9 -o dnn.hidden=4 -o train.keep=9'
expect 0 "$T" train s.ini -f m $O
for seed in 2 3; do expect 0 "$T" train s.ini -f m -i m --seed $seed $O; done
expect 1 "$T" train s.ini -f m -i m $O --valid valid.tsv --require 'auc>=0.999'
grep -q '^kind = delta$' m/v000004.rejected/MANIFEST || { ls m; cat err; exit 1; }
dump m/v000004.rejected >refused
cp -R m chain

# loads VERSION WANT: what was put aside is what it was.
loads() {
	dump "m/$1" >got
	same "$2" got "$1 is another"
}

# A whole version behind it: the former ones go, but for those that the refused one needs.
expect 0 "$T" train s.ini -f m --fresh $O -o train.keep=1
[ "$(cd m && echo v0*)" = 'v000001 v000002 v000003 v000004.rejected v000005' ] || { ls m; exit 1; }
loads v000004.rejected refused
expect 0 "$T" gc m --keep-last 1
prints 'parent of v000004.rejected'
loads v000004.rejected refused

# Under a limit it goes first, and then they do.
expect 0 "$T" gc m --keep-last 1 --max-size 1K
[ "$(cd m && echo v0*)" = v000005 ] || { ls m; exit 1; }

# Put aside by a rollback, parent and child: the newest three need the fourth, and a version
# that is still there.
rm -rf m; cp -R chain m
for seed in 5 6 7; do expect 0 "$T" train s.ini -f m -i m --seed $seed $O; done
dump m >newest
expect 0 "$T" rollback m 2
for v in 3 5 6 7; do [ -d m/v00000$v.rejected ] || { ls m; exit 1; }; done
loads v000007.rejected newest
expect 0 "$T" train s.ini -f m --fresh $O
expect 0 "$T" gc m --keep-last 1
loads v000007.rejected newest
[ ! -e m/v000004.rejected ] || { ls m; cat out; exit 1; }
[ -e m/v000001 ] && [ -e m/v000003.rejected/dense.bin ] || { ls m; exit 1; }
expect 0 "$T" gc m --keep-last 1
prints 'nothing to remove'
exit 0
