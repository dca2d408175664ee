#!/bin/sh
# A file of a model that may not be read is no damage: it is told, and no other version is looked at.
# A directory of data that may not be read is told, not that nothing is in it.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_spec s.ini
# Whoever may read everything must not, here.
set -- env
if [ "$(id -u)" = 0 ]; then
	set -- setpriv --bounding-set -dac_override,-dac_read_search --
	"$@" true || exit 77
fi
expect 0 "$T" train s.ini -f m
expect 0 "$T" train s.ini -f m -i m
[ "$(cat m/CURRENT)" = v000002 ] || exit 1
cp -r m good

for file in v000002/dense.bin v000002/MANIFEST v000002/table-user.0-of-1.bin v000002 CURRENT; do
	rm -rf m; cp -r good m
	chmod 0 "m/$file"
	"$@" cat "m/$file" >/dev/null 2>&1 && { echo 'everything can be read here'; exit 77; }
	for command in "train s.ini -f m --resume" "train s.ini -f other -i m" "eval m train.tsv"; do
		# shellcheck disable=SC2086
		expect 77 "$@" timeout -k 9 120 "$T" $command
		grep -q 'Permission denied' err || fail "$file, $command: $(cat err)"
		grep -q 'falling back\|former version\|damaged\|from the beginning' err &&
			fail "$file, $command: $(cat err)"
	done
	rm -rf other
	chmod 700 "m/$file"
	diff -r m good || fail "$file: the model changed"
done

mkdir closed open
cp train.tsv closed/
chmod 0 closed
expect 66 "$@" timeout -k 9 120 "$T" train s.ini -f new -d 'closed/*.tsv'
grep -q "cannot read the directory 'closed': Permission denied" err || fail "closed: $(cat err)"
expect 66 "$@" timeout -k 9 120 "$T" train s.ini -f new -d closed/train.tsv
grep -q "cannot open 'closed/train.tsv': Permission denied" err || fail "closed: $(cat err)"
expect 66 "$@" timeout -k 9 120 "$T" train s.ini -f new -d 'open/*.tsv'
grep -q 'no file matches' err || fail "open: $(cat err)"
# One among others, as lost+found is, has nothing for this user.
cp train.tsv open/
expect 0 "$@" timeout -k 9 120 "$T" train s.ini -f new -d '*/*.tsv'
chmod 700 closed
exit 0
