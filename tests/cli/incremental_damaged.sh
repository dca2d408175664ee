#!/bin/sh
# The model directory is not as the last run left it: weights and ledger stay together, and
# what was accepted is never removed.
set -u
. "$SRCDIR/tests/cli/incremental_data.sh"
make_hours 0 2
make_hour_spec s.ini
clock 3
expect 0 "$T" train s.ini --incremental --cron -f whole --db whole.db
dump whole >want
mv log/click-20261129-02.tsv .
clock 2
expect 0 "$T" train s.ini --incremental --cron -f two
mv click-20261129-02.tsv log
clock 3

# again SAYS CODE: the next run after something happened to m.
again() {
	expect "$2" "$T" train s.ini --incremental --cron -f m
	says "$1"
}

# The current version is damaged: what was trained since the former one is trained again.
for part in dense.bin ledger.txt figures.txt MANIFEST; do
	for how in changed gone; do
		rm -rf m
		cp -r two m
		case $how in
		changed) printf '#!@' | dd of=m/v000002/$part bs=1 seek=9 conv=notrunc 2>/dev/null ;;
		gone) rm m/v000002/$part ;;
		esac
		again 'going back to v000001' 0
		once m 900
		dump m >have
		same want have "$part that is $how changed the model"
	done
done
rm -rf m
cp -r two m
rm -r m/v000002
again 'going back to v000001' 0
once m 900
dump m >have
same want have 'a version that is gone changed the model'

# No former one: nothing is trained, and nothing removed.
rm -rf m
cp -r two m
rm -r m/v000001 m/v000002/dense.bin
again 'no former version is sound' 65
current m v000002 'a damaged version'
[ -d m/v000002 ] || { echo 'the damaged version is gone' >&2; exit 1; }

# CURRENT is gone, or means nothing: accepted versions are not those of a killed run.
for text in '' '../v000001'; do
	rm -rf m
	cp -r two m
	rm m/CURRENT
	[ -z "$text" ] || echo "$text" >m/CURRENT
	again 'recsys-train rollback m 2' 65
	[ -d m/v000001 ] && [ -d m/v000002 ] || { ls m >&2; exit 1; }
	expect 0 "$T" rollback m 2
	expect 0 "$T" train s.ini --incremental --cron -f m
	silent 'a run after CURRENT was written again'
	once m 900
	dump m >have
	same want have 'a lost CURRENT changed the model'
done
