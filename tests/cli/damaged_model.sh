#!/bin/sh
# L058, B032: damage in any file of a version is noticed by name; a full disk
# leaves the old model.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 500 1 >train.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m
expect 0 "$T" train s.ini -f m -i m
[ "$(cat m/CURRENT)" = v000002 ] || exit 1
cp -r m good

flip() { # FILE: one bit in its middle
	size=$(wc -c <"$1")
	at=$((size / 2))
	byte=$(od -An -tu1 -j $at -N 1 "$1" | tr -d ' ')
	printf "\\$(printf %03o $((byte ^ 16)))" | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}

for file in good/v000002/*; do
	name=${file##*/}
	for damage in flip cut gone; do
		rm -rf m; cp -r good m
		case $damage in
		flip) flip "m/v000002/$name" ;;
		cut) size=$(wc -c <"m/v000002/$name"); truncate -s $((size - 1)) "m/v000002/$name" ;;
		gone) rm "m/v000002/$name" ;;
		esac
		# MANIFEST gone: the version was never complete, CURRENT names nothing.
		expect 0 "$T" eval m train.tsv -q
		says "v000002"
		[ "$damage:$name" = gone:MANIFEST ] || says "$name"
		rm -rf m/v000001
		case $damage:$name in
		*:MANIFEST) ;;
		gone:*) expect 66 "$T" eval m train.tsv ;;
		*) expect 65 "$T" eval m train.tsv; says "$name" ;;
		esac
	done
done

# Where a file was is a pipe, which nobody fills.
rm -rf m; cp -r good m
rm m/v000002/dense.bin && mkfifo m/v000002/dense.bin
expect 0 timeout -k 9 60 "$T" eval m train.tsv -q
says 'not a regular file'

# What a run saved on its way is not served in place of a model: --resume goes on with it.
rm -rf m
expect 0 "$T" train s.ini -f m --epochs 3 -o train.checkpoint_every=0.0001 -o train.keep=99
newest=$(cat m/CURRENT)
[ "$newest" != v000001 ] || { echo 'the run saved nothing on its way' >&2; exit 1; }
flip "m/$newest/dense.bin"
expect 65 "$T" eval m train.tsv
says 'is of an unfinished run'
says 'go on with it by --resume'
expect 65 "$T" train s.ini -f other -i m
expect 0 "$T" train s.ini -f m --epochs 3 -o train.checkpoint_every=0.0001 -o train.keep=99 --resume
expect 0 "$T" eval m train.tsv
expect 66 "$T" train s.ini -f other -i "m/$(cat m/CURRENT)"
says 'it is one version of a model'

# Where no version can be written nothing is trained.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 755 closed && chmod 755 . && chmod 644 train.tsv s.ini
	expect 73 setpriv --reuid 65534 --clear-groups "$T" train s.ini -f closed --fresh \
		-o runs.db=none
	says "cannot write to 'closed'"
fi

# A limit on the size of files stands for a full disk.
rm -rf m; cp -r good m
( ulimit -f 400; expect 74 "$T" train s.ini -f m --fresh -o dnn.hidden=200,200 ) || exit 1
cmp m/CURRENT good/CURRENT || exit 1
expect 0 "$T" eval m train.tsv
ls -A m | grep -q '^\.tmp-' && { echo 'B032: temporary files stay' >&2; exit 1; }

# What a killed writer leaves is gone after the next run.
mkdir m/.tmp-v000009-99999; echo x >m/.tmp-v000009-99999/dense.bin; echo x >m/.tmp-1-0-CURRENT
expect 0 "$T" train s.ini -f m --fresh
ls -A m | grep -q '^\.tmp-' && exit 1
exit 0
