#!/bin/sh
# table = exact in jobs of several processes: the files of one process, to the bit, whatever the
# shards; saved on some shards and loaded on others; killed; stale.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 600 2 >valid.tsv
make_rows 120 3 >step.tsv
make_spec s.ini
RUN="--valid valid.tsv --epochs 1 $JOB -o train.early_stop=0"
EXACT='-o embedding.table=exact'

# train NAME OPTION...: the model NAME from nothing.
train() {
	rm -rf "$1"
	# shellcheck disable=SC2086
	expect 0 timeout -k 9 60 "$T" train s.ini $RUN -f "$@"
}

train one $EXACT -q
for ps in 1 2 3; do
	train m $EXACT -q --workers 2 --ps $ps
	same_tables one v000001 m v000001 "2 workers, $ps shards"
done
train m $EXACT -q --workers 3 -o placement.mode=allreduce
same_tables one v000001 m v000001 'allreduce'
# Of several kinds in one job, which share the values of a field.
sed 's/^\[field item\]/&\ntable = exact/' s.ini >mixed.ini
mv s.ini exact.ini
mv mixed.ini s.ini
train mixed -q
train m -q --workers 3 --ps 2
same_tables mixed v000001 m v000001 'one table of two is exact'
mv exact.ini s.ini

# L023: what 3 shards saved goes on elsewhere with all its state: one step gives the same rows.
for kind in hashed exact; do
	train three -q --workers 2 --ps 3 -o embedding.table=$kind -o embedding.optimizer=adam
	for place in '--workers 1' '--workers 1 --ps 1' '--workers 2 --ps 2' '--workers 2 --ps 5' \
		'--workers 2 -o placement.mode=allreduce'; do
		rm -rf m
		cp -r three m
		# shellcheck disable=SC2086
		expect 0 timeout -k 9 60 "$T" train s.ini $JOB -q -o embedding.table=$kind \
			-o embedding.optimizer=adam -o train.early_stop=0 -i m -f m -d step.tsv $place
		[ "$place" != '--workers 1' ] || { rm -rf next; mv m next; continue; }
		same_tables next v000002 m v000002 "L023: $kind, saved on 3 shards, then $place"
	done
	cmp -s next/v000001/table-user.0-of-1.bin next/v000002/table-user.0-of-1.bin && {
		echo 'L023: the step changed nothing' >&2
		exit 1
	}
done

# L029, L061: as few rows as can be, on more shards: some have none.
for kind in hashed exact; do
	for values in 1 6 7; do
		awk -v n=$values 'BEGIN { for (i = 0; i < 480; i++)
			printf "%d\tv%d\tw\n", i * 7 % 3 == 1, i % n }' >few.tsv
		sed -e '/^\[field x\]/,/^type/d' -e "s/buckets = 200/buckets = $values/" s.ini >few.ini
		set -- few.ini -d few.tsv $JOB -q --epochs 1 -o embedding.table=$kind
		rm -rf m few
		expect 0 "$T" train "$@" -f few
		expect 0 timeout -k 9 60 "$T" train "$@" -f m --workers 2 --ps 4
		same_tables few v000001 m v000001 "L029: $values $kind rows on 4 shards"
	done
done

# L037: ids of an evaluation that training has not seen get no row on a shard either.
sed 's/\tu/\tnew/' valid.tsv >unknown.tsv
# shellcheck disable=SC2086
expect 0 timeout -k 9 60 "$T" train s.ini $JOB $EXACT -q --epochs 1 --valid unknown.tsv \
	-o train.early_stop=0 -f unseen --workers 2 --ps 2
same_tables one v000001 unseen v000001 'unknown ids in the evaluation'

# Stale or rounded on the wire: about as good.
auc_of() { tail -n 1 out | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p'; }
train m $EXACT --json
exact=$(auc_of)
for options in consistency=async 'consistency=ssp -o placement.staleness=2' compress=int8; do
	# shellcheck disable=SC2086
	train m $EXACT --json --workers 3 --ps 2 -o placement.$options
	awk -v a="$(auc_of)" -v b="$exact" 'BEGIN { d = a - b; exit !(a > 0.5 && d > -0.04 && d < 0.04) }' ||
		{ echo "$options: AUC $(auc_of), exact $exact" >&2; exit 1; }
done
nothing_left 'by exact tables'

# Killed shards and workers: every occurrence is counted once.
TABLE=exact EPOCHS=60 KILLS=2 MODES=sync GONE='' sh "$SRCDIR/tests/dist/journal.sh" || exit 1
TABLE=exact EPOCHS=60 KILLS=2 STOPS=0 MODES=async sh "$SRCDIR/tests/dist/ledger.sh" || exit 1
exit 0
