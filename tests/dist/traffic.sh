#!/bin/sh
# What the wire carries: as the plan said within 5 %, and with int8 at most 34 % of fp32.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
expect 0 "$T" synth --layout criteo --rows 8192 -O log.tsv --no-header --spec-out s.ini
set -- $JOB -o train.slots=8 -o train.batch_size=1024 -o dnn.hidden=16
i=1
while [ $i -le 26 ]; do
	set -- "$@" -o "field C$i.buckets=5000"
	i=$((i + 1))
done

# figure NAME FILE: the sum over the shards of a run shown.
figure() {
	tr '{' '\n' <"$2" | awk -F '[:,]' -v key="\\.$1\"$" '
		$2 ~ /^"shard/ && $2 ~ key { for (i = 3; i < NF; i++) if ($i == "\"value\"") sum += $(i + 1) }
		END { printf "%d\n", sum }'
}
planned() {
	sed -n "s/.*\"$1_bytes_a_step\":\\([0-9.]*\\).*/\\1/p" plan.json
}
# near WHAT WANTED HAD
near() {
	awk -v w="$2" -v h="$3" 'BEGIN { exit !(w > 0 && h > 0.95 * w && h < 1.05 * w) }' ||
		{ echo "$1: the plan says $2, the shards had $3"; exit 1; }
}

expect 0 "$T" plan s.ini --workers 1 --ps 2 --sample 8 --json "$@"
mv out plan.json
for c in none int8; do
	expect 0 timeout 60 "$T" train s.ini -f m-$c --workers 1 --ps 2 "$@" \
		-o placement.compress=$c --db $c.db
	expect 0 "$T" runs show r0001 --json --db $c.db
	mv out $c.json
done
near push "$(planned push)" $(($(figure pushed_bytes none.json) / 8))
near pull "$(planned pull)" $(($(figure pulled_bytes none.json) / 8))
fp32=$(figure pushed_bytes none.json) int8=$(figure pushed_bytes int8.json)
[ $((100 * int8)) -le $((34 * fp32)) ] ||
	{ echo "int8 pushes $int8 bytes, fp32 $fp32"; exit 1; }
[ "$(figure pushed_rows none.json)" = "$(figure pushed_rows int8.json)" ] || exit 1
nothing_left traffic
echo "traffic: pushed $fp32 bytes, with int8 $int8"
