#!/bin/sh
# train --workers --ps: the dump of one process, exit codes, signals, and nothing left behind.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 400 2 >valid.tsv
make_spec s.ini
set -- --valid valid.tsv --epochs 2 $JOB

# Whole runs over processes are the run of one process, to the bit; uneven slots, too.
expect 0 "$T" train s.ini -f whole "$@"
dump whole >want
# grid WORKERS SHARDS OPTION...
grid() {
	w=$1 s=$2
	shift 2
	expect 0 timeout -k 9 60 "$T" train s.ini -f "m$w$s" --workers "$w" --ps "$s" "$@"
	dump "m$w$s" >have
	same want have "$w workers and $s shards: another model"
	nothing_left "by $w workers and $s shards"
	rm -rf "m$w$s"
}
grid 2 2 "$@" -j 1
grid 1 1 "$@"
grid 3 2 "$@"
grid 3 1 "$@" -o placement.dense=pushpull
grid 2 0 "$@" -o placement.mode=allreduce
grid 4 3 "$@" -o placement.mode=ps

# L049: L060: the last batch has rows for some workers only; they do not wait for more.
head -n 2521 train.tsv >uneven.tsv
expect 0 "$T" train s.ini -f uneven "$@" -d uneven.tsv
dump uneven >one
expect 0 timeout -k 9 60 "$T" train s.ini -f uneven4 "$@" -d uneven.tsv --workers 4 --ps 2
dump uneven4 >four
same one four 'L049: uneven data gave another model'

# The summary and the record are those of worker 0.
expect 0 timeout -k 9 60 "$T" train s.ini -f m --workers 2 --ps 2 --json -P none "$@"
[ "$(grep -c '"message_type":"summary"' out)" = 1 ] || { cat out; exit 1; }
prints '"rows":6000'
expect 0 "$T" runs show last --json --db runs.db
prints '"mode":"hybrid"'
prints '"lookup":"remote"'
prints '"status":"ok"'
expect 0 "$T" runs list --db runs.db
! grep -q running out || { cat out; exit 1; }

# What the nodes tell Prometheus.
expect 0 timeout -k 9 60 "$T" train s.ini -f told --workers 2 --ps 2 "$@" --epochs 100000 \
	--time-limit 2.5 -o train.early_stop=0 -o "cluster.metrics=$TMP/prom"
for line in '# TYPE recsys_train_pulls counter' 'recsys_train_pulls{.*role="ps",index="1"} [1-9]' \
	'recsys_train_rows{.*role="worker",index="0"} [1-9]' 'recsys_train_round{.*} 1$'; do
	grep -q "$line" prom || { echo "no $line" >&2; cat prom >&2; exit 1; }
done
[ "$(grep -c '^# TYPE' prom)" = "$(grep '^# TYPE' prom | sort -u | wc -l)" ] || exit 1

# --dry-run plans and starts nothing.
expect 0 "$T" train s.ini -f none --workers 2 --ps 2 -n "$@"
prints 'in 2 workers'
[ ! -e none ] || exit 1

# What cannot work is refused before anything starts.
expect 78 "$T" train s.ini -f m --workers 7 --ps 1 --fresh "$@"
says 'slots'
expect 73 "$T" train s.ini -f m --workers 2 --ps 1 "$@"
says '--fresh'
expect 64 "$T" train s.ini -f in --workers 2 --ps 1 "$@" -d - --epochs 1 <train.tsv
says 'standard input'
nothing_left 'by a job that was refused'

# Standard input is that of the one worker.
expect 0 "$T" train s.ini -f piped1 "$@" -d - --epochs 1 <train.tsv
expect 0 timeout -k 9 60 "$T" train s.ini -f piped "$@" -d - --epochs 1 --workers 1 --ps 1 <train.tsv
dump piped1 >one; dump piped >two
same one two 'standard input gave another model'

# Bad data in the middle: the code, the place, once.
(head -n 1700 train.tsv; echo 'x	u1	i1	0.5'; tail -n 1000 train.tsv) >bad.tsv
expect 65 timeout -k 9 60 "$T" train s.ini -f bad "$@" -d bad.tsv --workers 3 --ps 2
says 'bad.tsv:1701'
[ "$(grep -c 'error:' err)" = 1 ] || { cat err; exit 1; }
nothing_left 'after bad data'
expect 3 timeout -k 9 60 "$T" train s.ini -f skip "$@" -d bad.tsv --workers 3 --ps 2 \
	-o data.on_bad_row=skip
expect 66 timeout -k 9 60 "$T" train s.ini -f none "$@" -d none.tsv --workers 2 --ps 2
nothing_left 'without data'

# A shard that cannot listen ends the job at once, with its code.
expect 64 timeout -k 9 15 "$T" train s.ini -f deaf "$@" --workers 2 --ps 2 -o cluster.listen=nonsense
says "'nonsense' is no address"
says 'ended with exit code 64'
nothing_left 'by shards that cannot listen'

expect 73 timeout -k 9 60 "$T" train s.ini -f /proc/m "$@" --workers 2 --ps 2
nothing_left 'without a place for the model'

# A model directory that another run holds.
(flock 9; exec sleep 20) 9>m/LOCK & holder=$!
sleep 0.1
expect 75 timeout -k 9 60 "$T" train s.ini -f m --fresh "$@" --workers 2 --ps 2
kill $holder
ends $holder 20
nothing_left 'while the model was locked'

# A signal in the first moments, when some nodes have not joined or have just done so.
for signal in TERM INT TERM INT TERM INT; do
	timeout -s KILL 20 "$T" train s.ini -f early "$@" --fresh --epochs 100 --workers 2 --ps 2 \
		2>err & pid=$!
	tries=0
	while [ -z "$(nodes 'worker --index 1')" ] && [ $tries -lt 1000 ]; do
		tries=$((tries + 1))
	done
	sleep "$(between 0 0.04)"
	kill -$signal "$(pgrep -P $pid)" 2>/dev/null
	ends $pid
	case $signal:$code in
	INT:130|TERM:143) ;;
	*) echo "exit $code after an early SIG$signal" >&2; cat err >&2; exit 1 ;;
	esac
	nothing_left "after an early SIG$signal"
done

# L045: after SIGTERM and SIGINT nothing is left, and --resume, of another size, goes on.
for signal in TERM INT; do
	"$T" train s.ini -f "p$signal" "$@" --epochs 30 --workers 2 --ps 2 2>err & pid=$!
	begun "p$signal"
	sleep "$(between 0.05 0.4)"
	kill -$signal $pid 2>/dev/null
	ends $pid
	nothing_left "after SIG$signal"
	case $signal:$code in
	INT:130|TERM:143)
		expect 0 timeout -k 9 60 "$T" train s.ini -f "p$signal" "$@" --epochs 30 --resume \
			--workers 3 --ps 1 ;;
	*:0) ;;                        # it was faster than the signal
	*) echo "exit $code after SIG$signal" >&2; cat err >&2; exit 1 ;;
	esac
	[ -e want30 ] || { expect 0 "$T" train s.ini -f w30 "$@" --epochs 30; dump w30 >want30; }
	dump "p$signal" >have
	same want30 have "SIG$signal and --resume with 3 workers changed the result"
done

# Figures that cannot be written are said so before anybody relies on them.
expect 73 timeout -k 9 20 "$T" train s.ini -f unwritable --workers 2 --ps 1 "$@" -q \
	-o cluster.metrics="$TMP/nowhere/figures.prom"
says 'cluster.metrics'
nothing_left 'after figures that cannot be written'
