#!/bin/sh
# A run killed at any moment and resumed ends as if it had never been disturbed.
# KILLS (default 8) says how often; 50 is the figure of a release.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
KILLS=${KILLS:-${1:-8}}
make_rows 8000 1 >train.tsv
make_rows 500 2 >valid.tsv
make_spec s.ini
set -- -j 2 --valid valid.tsv --epochs 4 -o train.early_stop=0 -o train.checkpoint_every=0.03 \
	-o data.row_group=20k -o data.shuffle_window=60k -o dnn.dropout=0.1 -o embedding.optimizer=adam

expect 0 "$T" train s.ini -f whole "$@"
dump whole >want
kills=0 round=0 loads=0
while [ "$kills" -lt "$KILLS" ]; do
	round=$((round + 1))
	m=m$round
	resume=
	while :; do
		"$T" train s.ini -f $m "$@" $resume 2>err & pid=$!
		resume=--resume
		sleep "$(awk -v s="$((kills * 7919 + round))" 'BEGIN { srand(s); printf "%.3f", 0.02 + rand() * 0.25 }')"
		[ "$kills" -lt "$KILLS" ] && kill -9 $pid 2>/dev/null
		ends $pid
		[ $code = 0 ] && break
		[ $code = 137 ] || { echo "exit $code" >&2; cat err >&2; exit 1; }
		kills=$((kills + 1))
		# Whatever is there can be loaded.
		if ls -d $m/v* >/dev/null 2>&1; then
			expect 0 "$T" inspect $m
			loads=$((loads + 1))
		fi
	done
	dump $m >got
	same want got "after $kills kills the result is another"
	ls -A $m | grep -q '^\.tmp-' && { echo 'temporary files stay' >&2; ls -A $m >&2; exit 1; }
done
echo "$kills kills in $round runs, $loads loads of what they left"
exit 0
