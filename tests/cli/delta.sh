#!/bin/sh
# Versions that are deltas: killed while one is written, damaged, compacted, removed.
# KILLS (default 10) says how often a run is killed; 100 is the figure of a release.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
KILLS=${KILLS:-${1:-10}}
make_rows 8000 1 >train.tsv
make_rows 500 2 >valid.tsv
make_spec s.ini
sed 's/buckets = 200/table = exact/' s.ini >exact.ini
set -- -j 2 --valid valid.tsv --epochs 4 -o train.early_stop=0 -o train.checkpoint_every=0.02 \
	-o data.row_group=20k -o data.shuffle_window=60k -o embedding.optimizer=adam
deltas="-o train.full_every=5"

# chain MODEL: how many of its versions are deltas.
chain() {
	cat "$1"/v*/MANIFEST | grep -c '^kind = delta$'
}

# look MODEL: all numbers of the tables, of exact ones what they predict.
look() {
	case $1 in
	*exact*) "$T" predict "$1" valid.tsv ;;
	*) dump "$1" ;;
	esac
}

# A kill before, in and behind a delta, and whenever it comes: what is there can be loaded, and
# the end is that of a run that wrote whole versions and was left alone.
kills=0 seen=0 loads=0 round=0
while [ "$kills" -lt "$KILLS" ]; do
	round=$((round + 1))
	spec=s.ini
	[ $((round % 2)) = 1 ] || spec=exact.ini
	m=m$round.$spec
	resume=
	until=$((kills + 5 < KILLS ? kills + 5 : KILLS))
	while :; do
		at=$((kills % 3 + 1))
		case $((kills % 5)) in
		0) point=checkpoint.delta@$at=kill ;;
		1) point=checkpoint.before_manifest@$at=kill ;;
		2) point=checkpoint.before_rename@$at=kill ;;
		*) point= ;;
		esac
		[ "$kills" -lt "$until" ] || point=
		RECSYS_TRAIN_FAILPOINT=$point "$T" train $spec -f $m "$@" $deltas $resume 2>err &
		pid=$!
		resume=--resume
		if [ -z "$point" ] && [ "$kills" -lt "$until" ]; then
			sleep "$(awk -v s="$((kills * 7919 + round))" \
				'BEGIN { srand(s); printf "%.3f", 0.02 + rand() * 0.25 }')"
			kill -9 $pid 2>/dev/null
		fi
		ends $pid
		[ $code = 0 ] && break
		[ $code = 137 ] || { echo "exit $code" >&2; cat err >&2; exit 1; }
		kills=$((kills + 1))
		for v in $m/v*; do
			[ -d "$v" ] || continue
			expect 0 "$T" predict $v valid.tsv
			loads=$((loads + 1))
		done
		[ ! -d $m/v000001 ] || seen=$((seen + $(chain $m)))
	done
	[ -e want.$spec ] || {
		expect 0 "$T" train $spec -f whole.$spec "$@"
		look whole.$spec >want.$spec
	}
	look $m >got
	same want.$spec got "after $kills kills the result is another"
done
[ $seen -gt 0 ] || { echo 'no version was a delta' >&2; exit 1; }

# One that is missing is named, and the former one is used instead.
rm -rf m
expect 0 "$T" train s.ini -f m "$@" $deltas -o train.keep=99 \
	-o train.checkpoint_every=0.0001
[ "$(chain m)" -ge 2 ] || { echo "$(chain m) deltas" >&2; ls m >&2; exit 1; }
dump m >before
last=$(cat m/CURRENT)
parent=$(sed -n 's/^parent = //p' "m/$last/MANIFEST")
while ! grep -q '^kind = delta$' "m/$last/MANIFEST"; do
	last=$(printf 'v%06d' "$(expr "${last#v}" - 1)")       # 000194 is no octal number
	[ -d "m/$last" ] || { echo 'no delta below the current version' >&2; exit 1; }
	parent=$(sed -n 's/^parent = //p' "m/$last/MANIFEST")
done
parent=$(printf 'v%06d' "$parent")
mv "m/$parent" aside
expect 65 "$T" inspect "m/$last"
says "a delta of $parent, which is missing"
mv aside "m/$parent"

# gc keeps what the current version is made of; made whole it needs nothing.
echo "$last" >m/CURRENT
dump m >before
expect 0 "$T" gc m --keep-last 1
[ "$(chain m)" -ge 1 ] || { echo 'the chain is gone' >&2; exit 1; }
dump m >got
same before got 'gc changed the model'
RECSYS_TRAIN_FAILPOINT=checkpoint.compacted=kill "$T" gc m --keep-last 1 --compact 2>err
dump m >got
same before got 'a killed gc changed the model'
expect 0 "$T" gc m --keep-last 1 --compact
grep -q '^kind = full$' "m/$last/MANIFEST" || { echo 'it is no whole version' >&2; exit 1; }
! ls "m/$last" | grep -q delta || { ls "m/$last" >&2; exit 1; }
dump m >got
same before got 'compacting changed the model'

echo "$kills kills in $round runs, $loads loads of what they left, $seen deltas among it"
exit 0
