#!/bin/sh
# cluster.policy = file: each worker reads its own files, of which one has far fewer rows and
# one none.  The model is a function of files, spec, seed and number of workers, whatever is
# killed or stopped, and every row of every file is trained once an epoch.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 4000 1 >part-a.tsv
make_rows 370 2 >part-b.tsv
: >part-c.tsv
make_rows 300 3 >valid.tsv
make_spec s.ini
JOB="$JOB --valid valid.tsv -o train.early_stop=0 -o data.row_group=20k
	-o data.shuffle_window=60k -o dnn.dropout=0.1"
FILES="--data part-*.tsv"
set -f

# run MODEL WORKERS SHARDS ARGUMENT...: of rows that are dealt by file.
run() {
	m=$1 w=$2 s=$3
	shift 3
	# shellcheck disable=SC2086
	exec timeout -k 9 60 "$T" train s.ini -f "$m" $FILES $JOB --workers "$w" --ps "$s" \
		-o cluster.policy=file --json -P none "$@"
}

# counts ROWS WHO: the record of the last run has so many, in files of 4000, 370 and 0.
counts() {
	grep -q "\"rows\":$1,.*\"rows_read\":$1," out || { echo "$2: other rows" >&2; cat out >&2; exit 1; }
	"$T" runs show last --json >shown || exit 1
	for n in 4000 370 0; do
		grep -q "\"rows_read\":$n,\"rows_trained\":$n,\"rows_skipped\":0" shown || {
			echo "$2: no file of $n rows in the ledger" >&2; cat shown >&2; exit 1; }
	done
}

auc() { tail -n 1 out | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p'; }

# L007, L060: uneven and empty data stall nobody.
for w in 2 3; do
	for s in 1 2; do
		(run m$w$s $w $s --epochs 3) >out 2>err || { cat out err >&2; exit 1; }
		counts 13110 "$w workers, $s shards"
		dump m$w$s >have$w$s
	done
	same have${w}1 have${w}2 "$w workers: another model the second time"
done
dealt=$(auc)

# About as good as when all read all.
# shellcheck disable=SC2086
expect 0 timeout -k 9 60 "$T" train s.ini -f record $FILES $JOB --workers 2 --ps 1 --epochs 3 --json
awk -v a="$dealt" -v b="$(auc)" 'BEGIN { exit !(a > 0.6 && a - b < 0.03 && b - a < 0.03) }' || {
	echo "AUC $dealt, of record $(auc)" >&2; exit 1; }

# A worker that dies in the middle.
(run whole 3 1 --epochs 20) >out 2>err || { cat out err >&2; exit 1; }
dump whole >want
(run killed 3 2 --epochs 20 -o train.checkpoint_every=0.1) >out 2>err & pid=$!
begun killed
sleep "$(between 0.2 0.7)"
victim=$(nodes 'worker --index 1')
[ -z "$victim" ] || kill -9 $victim
ends $pid; [ $code = 0 ] || { echo 'a killed worker' >&2; cat out err >&2; exit 1; }
counts 87400 'a killed worker'
dump killed >have
same want have 'a killed worker: another model'

# SIGTERM and --resume, which wants as many workers and the same way to deal.
(run ended 3 1 --epochs 20) >out 2>err & pid=$!
begun ended
sleep "$(between 0.2 0.4)"
kill -TERM $pid
ends $pid
if [ $code = 143 ]; then
	for other in '2 file are 2' '3 record of 3 workers'; do
		# shellcheck disable=SC2086
		set -- $other
		code=0
		(run ended "$1" 1 --epochs 20 --resume -o cluster.policy="$2") >out 2>err || code=$?
		[ $code = 78 ] || { echo "resumed as $other: exit $code" >&2; cat err >&2; exit 1; }
		says "${other#* * }"
	done
	code=0
	(run ended 3 2 --epochs 20 --resume) >out 2>err || code=$?
fi
[ $code = 0 ] || { echo "--resume: exit $code" >&2; cat err >&2; exit 1; }
dump ended >have
same want have '--resume: another model'

# Ranges of a file are dealt like files of these bytes.
cat part-a.tsv part-b.tsv >whole.tsv
a=$(wc -c <part-a.tsv | tr -d ' ')
all=$FILES
FILES='--data part-a.tsv --data part-b.tsv'
(run of-files 2 1) >out 2>err || { cat out err >&2; exit 1; }
FILES="--data whole.tsv@0-$a --data whole.tsv@$a-"
(run of-ranges 2 1) >out 2>err || { cat out err >&2; exit 1; }
dump of-files >want
dump of-ranges >have
same want have 'ranges: another model'
FILES=$all

# What cannot be dealt is refused before anything is started.
code=0
(run none 4 1) >out 2>err || code=$?
[ $code = 78 ] || { echo "3 files for 4 workers: exit $code" >&2; cat err >&2; exit 1; }
says '3 training files for 4 workers'
code=0
(run none 2 1 -o 'field x.transform=standardize') >out 2>err || code=$?
[ $code = 78 ] || { echo "a first pass: exit $code" >&2; cat err >&2; exit 1; }
says 'a pass over all rows'
nothing_left 'after refusals'

# Nobody says: by file when rows lag anyway and files are about even.
split -n l/2 -a 1 part-a.tsv even-
for how in 'async even-? file' 'sync even-? record' 'async part-*.tsv record'; do
	# shellcheck disable=SC2086
	set -- $how
	expect 0 "$T" plan s.ini --data "$2" -o train.slots=6 --workers 2 --ps 1 \
		-o "placement.consistency=$1"
	prints "data       dealt by $3:"
done
expect 0 timeout -k 9 60 "$T" train s.ini -f by-itself --data 'even-?' $JOB --workers 2 --ps 1 \
	--epochs 1 --json -P none -o placement.consistency=async
expect 0 "$T" runs show last --json
prints 'rows by file: rows lag anyway'
prints '"rows":4000,'
nothing_left 'after a run of no policy'
