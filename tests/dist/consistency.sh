#!/bin/sh
# Rows that are a little stale or rounded on the wire: another model, as good as the exact one.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 1000 2 >valid.tsv
make_spec s.ini
set -- --valid valid.tsv --epochs 2 $JOB --json

auc_of() {
	tail -n 1 "$1" | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p'
}

expect 0 "$T" train s.ini -f whole "$@"
exact=$(auc_of out)
dump whole >want

# as_good WORKERS OPTION...: ends, and its AUC is that of the exact run, about.
as_good() {
	w=$1
	shift
	expect 0 timeout -k 9 60 "$T" train s.ini -f m --workers "$w" --ps 2 "$@"
	auc=$(auc_of out)
	awk -v a="$auc" -v b="$exact" 'BEGIN { d = a - b; exit !(a > 0.5 && d > -0.03 && d < 0.03) }' ||
		{ echo "$*: AUC $auc, exact $exact"; exit 1; }
	dump m >have
	rm -rf m
	nothing_left "after $*"
}

# L046: pushes that are applied when they come: no crash, and no odd curve.
as_good 2 "$@" -o placement.consistency=async
as_good 3 "$@" -o placement.consistency=async -o placement.compress=int8
as_good 3 "$@" -o placement.consistency=ssp -o placement.staleness=2
as_good 2 "$@" -o placement.compress=fp16
cmp -s want have && { echo 'fp16 on the wire changes no bit: it is not used'; exit 1; }
as_good 2 "$@" -o placement.compress=int8
