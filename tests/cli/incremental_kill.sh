#!/bin/sh
# kill -9 of an hourly run, at every named place and at random moments, each followed by the
# next start of cron: at the end every row was trained once, and the model is that of an
# undisturbed line, to the bit.
#
#   KILLS=200 SEED=1 FORM=rows sh tests/cli/incremental_kill.sh
#
# KILLS: kills at random moments, besides those at named places, of which TIMES says when: "1
# 2 3" is each of the first three times that a run comes there.  FORM: an hour is a file;
# rows: one file grows; gate: an hour is a file, and the gate refuses the third.  By default
# all of them, the last two with half as many kills.
set -u
KILLS=${KILLS-6}
if [ -z "${FORM-}" ]; then
	FORM=files sh "$0" && KILLS=$((KILLS / 2)) &&
		KILLS=$KILLS FORM=rows sh "$0" && KILLS=$KILLS FORM=gate sh "$0"
	exit
fi
. "$SRCDIR/tests/cli/incremental_data.sh"
SEED=${SEED-1}
HOURS=4 ROWS=600
state=$SEED
make_hours 0 $((HOURS - 1)) $ROWS
mv log all
mkdir log
make_hour_spec s.ini
[ $FORM != rows ] || sed -i 's/^file_time.*//; s/^\[data\]/&\ntime = 5/' s.ini
printf 'publish = serve\ncommand = "echo $RECSYS_VERSION >>commands"\n' >>s.ini

refused=0
if [ $FORM = gate ]; then
	refused=1
	printf 'require = auc>=last-0.02\n' >>s.ini
	poisoned=all/click-20261129-02.tsv
	awk -F '\t' -v OFS='\t' '{ $1 = 1 - $1; print }' $poisoned >bad
	touch -r $poisoned bad
	mv bad $poisoned
fi

# arrive: the next hour is there, and over.
here=0
arrive() {
	[ $here -lt $HOURS ] || return 0
	come=all/click-20261129-0$here.tsv
	if [ $FORM != rows ]; then
		cp -p $come log
	else
		awk -v t=$((DAY + 3600 * here)) '{ print $0 "\t" t + NR }' $come >>log/click-all.tsv
		touch -r $come log/click-all.tsv
	fi
	here=$((here + 1))
	clock $here
}

# all_arrive: all of them, at once.
all_arrive() { while [ $here -lt $HOURS ]; do arrive; done; }

set -- train s.ini --incremental --cron -j 2 -o dnn.dropout=0.1 -o embedding.optimizer=adam \
	-o train.keep=2
all_arrive
began=$(now_ms)
expect $refused "$T" "$@" -f whole -o incremental.publish=served
whole_ms=$(($(now_ms) - began))
dump whole >want
dump served/current >have
same want have 'what is served is not the model'
kills=0 lines=0

# killed: what is served was accepted before it is served.
killed() {
	kills=$((kills + 1))
	accepted=$(sed 's/^v0*//' m/CURRENT 2>/dev/null)
	for copy in serve/[0-9]*; do
		[ ! -d "$copy" ] || [ "${copy#serve/}" -le "${accepted:-0}" ] ||
			{ echo "$copy is served, $accepted is current" >&2; exit 1; }
	done
}

# ended: the line in m is at its end; a new one begins.
ended() {
	[ $FORM != files ] || once m $((HOURS * ROWS))
	ledger=m/$(cat m/CURRENT)/ledger.txt
	[ "$(sed -n 's/^path=.*rows=\([0-9]*\).*/\1/p' "$ledger" | sort -u)" = $ROWS ] &&
		[ "$(grep -c use=trained "$ledger")" = $((HOURS - refused)) ] &&
		[ "$(grep -c use=rejected "$ledger")" = $refused ] ||
		{ echo 'the ledger:' >&2; cat "$ledger" >&2; exit 1; }
	dump m >have
	same want have "after $kills kills another model"
	dump serve/current >have
	same want have "after $kills kills another model is served"
	[ "$(readlink serve/current)" = "$(sed 's/^v0*//' m/CURRENT)" ] ||
		{ ls -l serve >&2; cat m/CURRENT >&2; exit 1; }
	[ "$(tail -1 commands)" = "$(readlink serve/current)" ] ||
		{ echo 'the command was not run for what is served:' >&2; cat commands >&2; exit 1; }
	ls -A m serve | grep -E '^\.(tmp|new)' && { echo 'temporary files stay' >&2; exit 1; }
	lines=$((lines + 1))
	rm -rf m serve runs.db* commands
}

# again: the next start; what was refused before the kill is not said again.
again() {
	code=0
	"$T" "$@" -f m >out 2>err || code=$?
	case $code in
	0) silent "the run after a kill" ;;
	$refused) ;;
	*) echo "exit $code after a kill" >&2; cat err >&2; exit 1 ;;
	esac
}

# A kill at the Nth time of each place that the program has.
places=$(grep -rho 'failpoint("[a-z._]*")' "$SRCDIR/src" | sed 's/failpoint("\(.*\)")/\1/' | sort -u)
[ -n "$places" ] || { echo 'no named places' >&2; exit 1; }
case $FORM in
files) times="1 $HOURS" ;;
rows) times=2 ;;
gate) times=3 ;;
esac
times=${TIMES-$times}
for place in $places; do
	for time in $times; do
		code=0
		RECSYS_TRAIN_FAILPOINT="$place@$time=kill" "$T" "$@" -f m >out 2>err || code=$?
		case $code in
		0 | $refused) ;;       # it is not on the way of this run
		137) killed ;;
		*) echo "killed at $place: exit $code" >&2; cat err >&2; exit 1 ;;
		esac
		was=$code
		[ $was != 137 ] || again "$@"
		ended
		[ $was = 137 ] || break
	done
done
named=$kills
[ "$named" -ge 4 ] || { echo "only $named kills at named places" >&2; exit 1; }

# below N: a random number under N, in $random.
below() {
	state=$(((state * 69069 + 1) % 4294967296))
	random=$((state / 65536 % $1))
}

# Kills are spread over the time of an hour.  One measurement may be far from it, when the
# machine stood still or its clock was set: a run that ends unhurt makes the time shorter, one
# that does not makes it longer.
span=$((whole_ms * 2 / HOURS + 20))
[ $span -gt 20 ] && [ $span -lt 2000 ] || span=2000

rm log/*
here=0
while [ $((kills - named)) -lt "$KILLS" ]; do
	arrive
	"$T" "$@" -f m >out 2>err & pid=$!
	below $span
	sleep "$((random / 1000)).$(printf %03d $((random % 1000)))"
	kill -9 $pid 2>/dev/null
	ends $pid
	case $code in
	0 | $refused)
		span=$((span * 7 / 8 + 10))
		[ $here -lt $HOURS ] || { ended; rm log/*; here=0; } ;;
	137)
		killed
		span=$((span * 8 / 7 + 10))
		[ ! -e m/CURRENT ] || expect 0 "$T" inspect m ;;
	*) echo "exit $code after a kill" >&2; cat err >&2; exit 1 ;;
	esac
done
all_arrive
again "$@"
ended
echo "$FORM: $named kills at named places and $((kills - named)) at random, $lines lines: every row once"
