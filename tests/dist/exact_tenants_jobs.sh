#!/bin/sh
# Ids that come and rows that go in jobs of several processes: the files of one process, to the
# bit, also when the job goes on from a version.  Parameter servers refuse.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
awk 'function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
BEGIN {
	s = 7
	for (i = 0; i < 9000; i++) {
		a = u() < 0.5 ? int(u() * u() * 200) : 1000 + int(i / 4 + u() * 40)
		printf "%d\tu%d\ti%d\t%.3f\t%d\n", (u() < 0.3), a, u() * 40, u(),
			1700000000 + i * 6
	}
}' >train.tsv
head -n 4800 train.tsv >a.tsv; tail -n +4801 train.tsv >b.tsv
make_spec s.ini
RULES="$JOB -q -o embedding.table=exact -o data.time=5 -o data.shuffle=no -o train.early_stop=0
	-o embedding.expire_after=9h -o embedding.max_bytes=320k -o embedding.admit_count=2"

# train MODEL OPTION...
train() {
	# shellcheck disable=SC2086
	expect 0 timeout -k 9 100 "$T" train s.ini $RULES -f "$@"
}

for admit in count sketch; do
	train one -o embedding.admit=$admit
	train two -o embedding.admit=$admit --workers 3 -o placement.mode=allreduce
	rm -rf half
	train half -o embedding.admit=$admit -d a.tsv
	train half -o embedding.admit=$admit -d b.tsv -i half --workers 2 \
		-o placement.mode=allreduce
	for file in one/v000001/t*.bin; do
		cmp "$file" "two/v000001/${file##*/}" || { echo "$admit, 3 workers"; exit 1; }
		cmp "$file" "half/v000002/${file##*/}" || { echo "$admit, gone on"; exit 1; }
	done
	rm -rf one two
done

# shellcheck disable=SC2086
expect 78 timeout -k 9 100 "$T" train s.ini $RULES -f none --workers 2 --ps 1
says 'are for tables of the workers'
exit 0
