#!/bin/sh
# librecsys as others find it: the program of recsys(3) is compiled by pkg-config against
# what is installed, shared and static, and scores as predict does; nothing but the
# interface is exported, and neither ZeroMQ nor SQLite is wanted.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
command -v pkg-config >/dev/null || { echo 'pkg-config is missing'; exit 77; }
if nm -D "$BUILDDIR/librecsys.so.1" | grep -q -e __asan_ -e __tsan_; then
	echo 'the library is built with a sanitizer'
	exit 77
fi
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$BUILDDIR" install DESTDIR="$TMP/root" \
	>make.out 2>&1 || { cat make.out; exit 1; }
pc=$(find root -name recsys.pc)
lib=$TMP/${pc%/pkgconfig/recsys.pc}
prefix=${lib%/lib*}
flags() {
	PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$prefix" "$@" recsys
}

awk '/^\.Sh EXAMPLES/ { wanted = 1 } wanted && /^\.Ed/ { exit } block { gsub(/\\e/, "\\"); print }
	wanted && /^\.Bd/ { block = 1 }' "$SRCDIR/man/recsys.3" >example.c
[ "$(grep -c . example.c)" -ge 15 ] || { cat example.c; exit 1; }
# shellcheck disable=SC2046
cc -Wall -Werror example.c $(flags --cflags --libs) -o shared || exit 1
# shellcheck disable=SC2046
cc -Wall -Werror example.c $(flags --cflags) "$lib/librecsys.a" \
	$(flags --static --libs-only-l | sed 's/-lrecsys//') -o static || exit 1
export LD_LIBRARY_PATH="$lib"

make_rows 300 1 >train.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m -o train.epochs=1
expect 0 "$T" predict m train.tsv
cp out want
for program in shared static; do
	expect 0 ./$program m <train.tsv
	paste want out | awk '{ d = $1 - $2 } NF != 2 || !(d < 1e-6 && d > -1e-6) { print; exit 1 }
		END { exit NR != 300 }' || { echo "$program scores otherwise"; exit 1; }
done
expect 66 ./shared nowhere
says "there is no model directory 'nowhere'"
printf '1\tu1\n' >short.tsv
expect 65 ./shared m <short.tsv
says 'text:1'

sed -n 's/^\t\t\(recsys_[a-z_]*\);$/\1/p' "$SRCDIR/src/lib/librecsys.map" | sort >listed
nm -D --defined-only "$lib/librecsys.so.1" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | sort >got
same listed got 'exports of librecsys.so'
nm -g --defined-only "$lib/librecsys.a" | awk '$2 ~ /[A-Z]/ { print $3 }' | sort >got
same listed got 'global names of librecsys.a'
nm -D "$lib/librecsys.so.1" | grep -q 'recsys_open@@RECSYS_1.0' || { echo 'no symbol versions'; exit 1; }
readelf -d "$lib/librecsys.so.1" | grep NEEDED >needed
grep -q -i -e zmq -e sqlite needed && { cat needed; exit 1; }
# Nor is anything of the trainer and its processes inside.
nm "$lib/librecsys.a" | awk '{ print $NF }' |
	grep -E '^(train_run|workers|exchange|reducer|courier|dealer|wire|member|store|publish)_?' >inside
[ ! -s inside ] || { head inside; echo 'code of the trainer is in librecsys.a'; exit 1; }
exit 0
