#!/bin/sh
# What fresh rows are worth: the replay of Monolith (Liu et al. 2022, section 4.2).
#
#     [SEEDS="1 2 3"] sh tests/bench/drift.sh [synth|ml100k] [DIRECTORY]
#
# synth: a log whose items drift ([HOUR_ROWS=4000] [DRIFT=1]); five days are trained as a
# batch, then two days go by in half hours.  ml100k: MovieLens in the order of time, a rating
# of 4 or 5 is a click; the first 60 % of the rows are the batch, then half days go by.
#
# Each step is scored with the model that is current at its begin, before train --incremental
# may take what is complete by its end.  The AUC is that of all scored rows, for a model that
# stays as it is and for longer and shorter periods; of the seeds the mean with the least and
# the greatest.  Ends with 1 when the AUC does not grow from line to line.
set -eu
: "${RECSYS_TRAIN:=recsys-train}" "${SEEDS:=1 2 3}" "${HOUR_ROWS:=4000}" "${DRIFT:=1}"
: "${RECSYS_DATA:=../shared/data}"
kind=${1:-synth}
DATA=$(cd "$RECSYS_DATA" && pwd)
W=${2:-$(mktemp -d)}
mkdir -p "$W"
cd "$W"

# auc FILE: of lines LABEL TAB SCORE, ties count half.
auc() {
	LC_ALL=C sort -t "$(printf '\t')" -k 2,2g "$1" | awk -F '\t' '
		function tie() { u += p * (below + n / 2); below += n; P += p; N += n; p = n = 0 }
		NR > 1 && $2 != last { tie() }
		{ last = $2; if ($1 > 0) p++; else n++ }
		END { tie(); printf "%.5f", u / P / N }'
}

# past.tsv, recent.tsv and spec.ini; start and step of the replay in seconds, periods.
make_synth() {
	synth="$RECSYS_TRAIN -q synth --seed $1 --hour-rows $HOUR_ROWS --drift $DRIFT --force"
	$synth --hours 120 -O past.tsv --spec-out spec.ini
	$synth --start $((120 * HOUR_ROWS)) --hours 48 -O recent.tsv
	sed -i 's/^epochs = .*/epochs = 1/' spec.ini
	start=1767657600                # 2026-01-06T00:00:00Z, five days into the log
	step=1800
	periods="none 5h 1h 30m"
}

make_ml100k() {
	gzip -dc "$DATA"/ml100k/u.data.gz | sort -n -k 4,4 -s | awk -v OFS='\t' '
		BEGIN { print "click", "time", "user", "item" }
		{ print ($3 >= 4), $4, $1, $2 }' >all.tsv
	head -60001 all.tsv >past.tsv
	{ head -1 all.tsv; tail -n +60002 all.tsv; } >recent.tsv
	cat >spec.ini <<-'END'
	[model]
	type = deepfm
	[data]
	train = past.tsv
	format = tsv
	header = yes
	label = click
	time = time
	[field user]
	column = user
	buckets = 4096
	[field item]
	column = item
	buckets = 8192
	[embedding]
	dim = 8
	learning_rate = 0.05
	[dnn]
	hidden = 64,32
	[train]
	epochs = 3
	batch_size = 256
	END
	step=43200
	start=$(awk -v s=$step 'NR == 2 { print $2 - $2 % s }' recent.tsv)
	periods="none 10d 1d 12h"
}

# Rows of step K in step.K.tsv, with the header.
cut_steps() {
	rm -f step.*.tsv
	awk -F '\t' -v start="$start" -v step="$step" '
		NR == 1 { head = $0; next }
		{ file = "step." int(($2 - start) / step) ".tsv"
		  if (!(file in seen)) { if (last != "") close(last); print head >file; seen[file] }
		  print >file; last = file }' recent.tsv
	n_steps=$(awk -F '\t' -v start="$start" -v step="$step" \
		'END { print int(($2 - start) / step) + 1 }' recent.tsv)
}

# replay PERIOD MODEL FILE: goes through the steps.
replay() {
	: >"$3"
	k=0
	while [ $k -lt "$n_steps" ]; do
		if [ -e step.$k.tsv ]; then
			"$RECSYS_TRAIN" -q predict "$2" step.$k.tsv -p scores
			tail -n +2 step.$k.tsv | cut -f 1 | paste - scores >>"$3"
		fi
		k=$((k + 1))
		[ "$1" = none ] || "$RECSYS_TRAIN" -q train spec.ini --incremental -f "$2" \
			-d recent.tsv -o incremental.period="$1" -o incremental.wait=0 \
			--until $((start + step * k)) --db runs.db
	done
}

: >figures
for seed in $SEEDS; do
	make_"$kind" "$seed"
	cut_steps
	rm -rf batch
	"$RECSYS_TRAIN" -q train spec.ini -f batch -d past.tsv --seed "$seed" --db runs.db
	for period in $periods; do
		rm -rf model
		cp -r batch model
		replay $period model scored
		echo "$seed $period $(auc scored)" >>figures
		tail -1 figures >&2
	done
done
awk -v periods="$periods" '
	{ n[$2]++; s[$2] += $3; if (!($2 in lo) || $3 < lo[$2]) lo[$2] = $3
	  if ($3 > hi[$2]) hi[$2] = $3 }
	END {
		k = split(periods, p, " ")
		print "period   AUC      range over the seeds"
		for (i = 1; i <= k; i++) {
			mean = s[p[i]] / n[p[i]]
			printf "%-8s %.5f  %.5f .. %.5f\n", p[i], mean, lo[p[i]], hi[p[i]]
			if (i > 1 && mean <= last) bad = 1
			last = mean
		}
		exit bad
	}' figures
