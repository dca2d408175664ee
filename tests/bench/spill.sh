#!/bin/sh
# spill.sh: what a table that is larger than memory costs.
#
#	[ROWS=6000000] [TABLE=31M] [RESIDENT=700M] [CAP=1500] [SPARSE=312M] sh tests/bench/spill.sh
#
# A bag of 8 ids a row, half of them Zipf, half any of the table, dim 16 and Adagrad: a row is
# 128 bytes, 31M of them are 4 GB.  It is trained in memory, and with RESIDENT bytes of rows in
# memory in a control group of CAP MiB, page cache and all, where one can be made; the dumps
# must be equal.  Then a table of SPARSE rows (40 GB) trains on Zipf ids: one batch, a file, and
# again, which is saved as a delta.  DIRECTORY (TMPDIR) wants some 12 GB.  Saving takes the time
# of the disk, so what is compared is the epoch.
#
# On two busy cores of a Zen 3 with a disk of 50k reads a second, ROWS=2000000, one after the
# other: in memory 62 s (36 s of the processor), RESIDENT=1000M 57 s (29 s), RESIDENT=500M, of
# which the rows trained need 1.2 GB, 134 s (45 s); both with CAP=1500.
set -u
: "${RECSYS_TRAIN:?}" "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
T=$RECSYS_TRAIN ROWS=${ROWS:-6000000} CAP=${CAP:-1500}
export TMPDIR="${DIRECTORY:-${TMPDIR:-/var/tmp}}"
. "$SRCDIR/tests/cli/train_data.sh"
group=/sys/fs/cgroup/memory/recsys-spill.$$
trap 'rm -rf "$TMP"; [ ! -d $group ] || rmdir $group' EXIT
trap 'exit 130' INT TERM
if mkdir $group 2>/dev/null && echo $((CAP * 1048576)) >$group/memory.limit_in_bytes; then
	limit="a control group of $CAP MiB"
else
	group= limit='no control group can be made: resident memory is measured'
fi

spec() {
	make_bags_spec s.ini fm "$1"
	cat >>s.ini <<-END
	spill = .
	[train]
	batch_size = 4096
	slots = 8
	full_every = 5
	END
}

# timed NAME [ARGUMENT...]: trains; seconds of the epoch and of the processor in NAME.epoch.
timed() {
	name=$1
	shift
	env time -f '%e %U %S %M' -o "$name.t" sh -c '[ -z "$1" ] || echo $$ >$1/tasks; shift; exec "$@"' \
		sh "$in" "$T" train s.ini -j "${THREADS:-1}" -P json "$@" >"$name.out" 2>"$name.err" ||
		{ echo "$name failed:"; cat "$name.err"; exit 1; }
	sed -n 's/.*"message_type":"epoch".*"seconds":\([0-9.]*\).*/\1/p' "$name.err" >"$name.epoch"
	read -r seconds user system memory <"$name.t"
	echo "$name: the epoch $(cat "$name.epoch") s; all $seconds s, user $user s," \
		"system $system s, most memory $((memory / 1024)) MiB"
}

"$T" --version | head -n 1
echo "$limit; $(df -h . | awk 'NR == 2 { print $4 }') of disk"
make_bags "$ROWS" 1 31000000 2 >train.tsv
spec "${TABLE:-31M}"
"$T" plan s.ini -o embedding.resident="${RESIDENT:-700M}" 2>&1 | grep -e '^spill' -e '^memory'
in=
timed memory -f memory
in=$group
timed spilled -f spilled -o embedding.resident="${RESIDENT:-700M}"
in=
[ -z "$group" ] ||
	echo "in the group at most $(($(cat $group/memory.max_usage_in_bytes) / 1048576)) MiB"
paste memory.epoch spilled.epoch | awk '{ printf "slowdown of the epoch %.2f\n", $2 / $1 }'
du -m memory/v*/table-bag.0* spilled/v*/table-bag.0*
for model in memory spilled; do
	"$T" inspect $model --dump text | sha256sum >$model.sum &
done
wait
cmp memory.sum spilled.sum || { echo 'the dumps differ'; exit 1; }
echo 'the dumps are equal'
rm -rf memory spilled

make_bags 4096 2 1000000000 1 >one.tsv
make_bags 500000 2 1000000000 1 >train.tsv
make_bags 200000 3 1000000000 1 >more.tsv
spec "${SPARSE:-312M}"
few="-o embedding.resident=${RESIDENT:-700M}"
# shellcheck disable=SC2086
timed one -f one $few -d one.tsv
# shellcheck disable=SC2086
timed sparse -f sparse $few
# shellcheck disable=SC2086
timed more -f sparse $few -d more.tsv -i sparse
grep -h '^kind' sparse/v*/MANIFEST
du -m sparse/v*/table-bag.*
"$T" eval sparse more.tsv
