# Functions of the scripts that retrain by the hour: sourced, not run.
# Hours are many small versions, each synced several times.
if probe=$(mktemp /dev/shm/XXXXXX 2>/dev/null); then
	printf '#!/bin/sh\n' >"$probe"
	chmod +x "$probe"
	"$probe" 2>/dev/null && TMPDIR=${TMPDIR-/dev/shm} && export TMPDIR
	rm "$probe"
fi
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
unset RECSYS_TRAIN_FAILPOINT RECSYS_TRAIN_NOW RECSYS_TRAIN_DB RECSYS_TRAIN_SPEC
DAY=1795910400			# 2026-11-29T00:00Z

# make_hour K [ROWS]: the log of hour K of that day, below 0 of the day before, as old as it
# would be.
make_hour() {
	mkdir -p log
	hour_file=log/click-$(date -u -d "@$((DAY + 3600 * $1))" +%Y%m%d-%H).tsv
	make_rows "${2:-300}" $((100 + $1)) >"$hour_file"
	touch -d "@$((DAY + 3600 * $1 + 3600))" "$hour_file"
}

# make_hours FIRST LAST [ROWS]
make_hours() {
	hour_at=$1
	while [ "$hour_at" -le "$2" ]; do
		make_hour "$hour_at" "${3:-300}"
		hour_at=$((hour_at + 1))
	done
}

# clock K: ten minutes past hour K, for all that is run from now on.
clock() {
	RECSYS_TRAIN_NOW=$((DAY + 3600 * $1 + 600))
	export RECSYS_TRAIN_NOW
}

make_hour_spec() {
	make_spec "$1"
	sed -i "s|^train = .*|train = $TMP/log/click-*.tsv|" "$1"
	printf '[incremental]\nfile_time = click-%%Y%%m%%d-%%H.tsv\n' >>"$1"
}

silent() {
	[ ! -s out ] && [ ! -s err ] && return
	echo "$1 said something:" >&2
	cat out err >&2
	exit 1
}

# current MODEL VERSION WHEN
current() {
	[ "$(cat "$1/CURRENT")" = "$2" ] && return
	echo "$3: $1/CURRENT is $(cat "$1/CURRENT"), not $2" >&2
	exit 1
}

# serves MODEL: it predicts.
serves() {
	expect 0 "$T" predict "$1" log/click-20261129-00.tsv
	[ "$(wc -l <out)" = 300 ] || { echo "$1 does not predict" >&2; exit 1; }
}

# once MODEL ROWS: the ledger of the current version has every file of log/ once, trained,
# and so many rows.
once() {
	ledger=$1/$(cat "$1/CURRENT")/ledger.txt
	for file in log/click-*.tsv; do echo "${file##*/} trained"; done >once.want
	awk -F '\t' '/^path=/ { n = split($1, part, "/"); print part[n], substr($2, 5) }' \
		"$ledger" >once.have
	cmp -s once.want once.have || {
		echo "the ledger of $1:" >&2; cat "$ledger" >&2; exit 1; }
	awk -F '\t' -v want="$2" '
		{ for (i = 1; i <= NF; i++) if ($i ~ /^rows=/) sum += substr($i, 6) }
		END { if (sum != want) { print "the ledger has " sum " rows, not " want; exit 1 } }' \
		"$ledger" >&2 || exit 1
}

# reached FILE: a process waits at the failpoint of this file.
reached() {
	tries=0
	until [ -e "$1.reached" ]; do
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || { echo "the failpoint of $1 was not reached" >&2; exit 1; }
		sleep 0.02
	done
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
