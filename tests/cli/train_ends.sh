#!/bin/sh
# train: divergence, signals, time limits, locks, one class, early stop.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 1000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini

# B010: names the term, the batch and the rate; the old model stays.
expect 0 "$T" train s.ini -f m
cp m/CURRENT current
expect 4 "$T" train s.ini -f m --fresh -o embedding.l2=1e4 -o embedding.optimizer=sgd -o train.learning_rate=1e5 --epochs 50
says 'not finite'
says 'learning_rate 1'
says 'batch'
same current m/CURRENT 'B010: a diverged run replaced the model'

# Fewer steps than it takes to give up, and none of them finite.
awk -F '\t' -v OFS='\t' 'NR <= 50 { $4 = "3e38"; print }' train.tsv >absurd.tsv
expect 4 "$T" train s.ini -f m --fresh -d absurd.tsv
says 'the loss of no step was finite'
same current m/CURRENT 'steps that were not finite replaced the model'

# Bad rows alone are no rows, and it says which of the two.
sed 's/^[^\t]*/x/' absurd.tsv >bad.tsv
expect 65 "$T" train s.ini -f m --fresh -d bad.tsv -o data.on_bad_row=skip
says "no rows but bad ones in 'bad.tsv'"

# A lock held by another run: 75 at once, or wait for it.
sleep_and_hold() { flock m/LOCK sleep "$1" & holder=$!; sleep 0.1; }
sleep_and_hold 5
expect 75 "$T" train s.ini -f m --fresh
says 'locked'
kill $holder; pkill -P $holder 2>/dev/null; wait $holder 2>/dev/null
sleep_and_hold 0.3
expect 0 "$T" train s.ini -f m --fresh --lock-wait 20
wait $holder

# Signals save and mark; --resume gives what would have been.
make_rows 20000 3 >big.tsv
expect 0 "$T" train s.ini -f whole -d big.tsv --epochs 6
for signal in INT TERM; do
	"$T" train s.ini -f "part$signal" -d big.tsv --epochs 6 2>err & pid=$!
	# The lock is taken after the signals are caught.
	tries=0
	while [ ! -e "part$signal/LOCK" ] && [ $tries -lt 500 ]; do
		sleep 0.02
		tries=$((tries + 1))
	done
	sleep 0.05
	kill -$signal $pid 2>/dev/null
	ends $pid
	case $signal:$code in
	INT:130|TERM:143)
		expect 73 "$T" train s.ini -f "part$signal" -d big.tsv --epochs 6
		says '--resume'
		expect 0 "$T" train s.ini -f "part$signal" -d big.tsv --epochs 6 --resume ;;
	*:0) ;;                        # it was faster than the signal
	*) echo "exit $code after SIG$signal" >&2; cat err >&2; exit 1 ;;
	esac
	dump whole >one; dump "part$signal" >two
	same one two "SIG$signal and --resume changed the result"
done

expect 0 "$T" train s.ini -f limited -d big.tsv --epochs 1000000 --time-limit 0.2 --json
prints '"message_type":"summary"'

# B002: one class in the validation rows.
awk -F'\t' '$1 == 0' valid.tsv >negative.tsv
expect 0 "$T" train s.ini -f n1 --valid negative.tsv --json
tail -n 1 out | grep -q '"auc":null,"logloss":0' || { cat out >&2; exit 1; }
says 'one class'
expect 65 "$T" train s.ini -f n2 --valid negative.tsv --epochs 5
says 'early stop on auc is impossible'
expect 0 "$T" train s.ini -f n3 --valid negative.tsv --epochs 5 -o train.monitor=logloss

# C 28: only positives.
awk -F'\t' '$1 == 1' train.tsv >positive.tsv
expect 0 "$T" train s.ini -f p1 -d positive.tsv
says 'every training label is 1'

# L064: swapped labels.
awk -F'\t' -v OFS='\t' '{ $1 = 1 - $1; print }' valid.tsv >swapped.tsv
expect 0 "$T" train s.ini -f w1 --valid swapped.tsv -o train.learning_rate=0.05
says 'below 0.5'

# B052: the training loss falls for ever, the validation rows are noise.
make_rows 60 9 >few.tsv
awk -F'\t' -v OFS='\t' '{ $1 = (NR * 7) % 2; print }' valid.tsv >noise.tsv
expect 0 "$T" train s.ini -f stop -d few.tsv --valid noise.tsv --epochs 200 -o train.learning_rate=0.05 -o train.early_stop=3 --json
epochs=$(tail -n 1 out | sed 's/.*"epochs":\([0-9]*\).*/\1/')
best=$(tail -n 1 out | sed 's/.*"best_epoch":\([0-9]*\).*/\1/')
[ "$epochs" -lt 200 ] && [ "$epochs" = $((best + 3)) ] || { echo "B052: $epochs epochs, best $best" >&2; exit 1; }
# B009: eval gives the figures of the best epoch.
auc=$(tail -n 1 out | sed 's/.*"valid":{[^}]*"auc":\([0-9.]*\).*/\1/')
expect 0 "$T" eval stop noise.tsv --json
prints "\"auc\":$auc"
exit 0
