#!/bin/sh
# Ids that come and rows that go in jobs of several processes: the files of one process, to the
# bit, and its figures.  Stale rows change what is learned, but not who comes and goes.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
tenants

for admit in count sketch; do
	rm -rf one
	train_rules one --json -o embedding.admit=$admit
	came_and_went >figures
	grep -q '"waiting":[1-9].*"refused":[1-9].*"evicted":[1-9].*"expired":[1-9]' figures ||
		{ cat figures >&2; exit 1; }
	for place in '--workers 3 -o placement.mode=allreduce' '--workers 1 --ps 1' \
		'--workers 2 --ps 3' '--workers 2 --ps 2 -o placement.consistency=ssp'; do
		rm -rf two
		# shellcheck disable=SC2086
		train_rules two --json -o embedding.admit=$admit $place
		came_and_went | cmp - figures || { echo "$admit, $place" >&2; exit 1; }
		case $place in
		*ssp) rm two/v000001/table*; cp one/v000001/table* two/v000001/ ;;
		esac
		same_tables one v000001 two v000001 "$admit, $place"
	done
done
rm -rf one two
train_rules one --json -o embedding.admit=probability -o embedding.evict=lfu
came_and_went >figures
train_rules two --json -o embedding.admit=probability -o embedding.evict=lfu --workers 3 --ps 2 \
	-o placement.consistency=async
came_and_went | cmp - figures || { echo 'probability, async' >&2; exit 1; }
exit 0
