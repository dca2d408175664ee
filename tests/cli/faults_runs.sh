#!/bin/sh
# Faults of other programs with runs, threads and locks: each case is named after
# its row.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
. "$SRCDIR/tests/cli/cases.sh"
T=$RECSYS_TRAIN

# one processor, and as many threads as the machine has
B023_threads_follow_the_affinity_mask() {
	command -v taskset >/dev/null || return 0
	make_rows 200 1 >train.tsv
	make_spec s.ini
	expect 0 taskset -c 0 "$T" train s.ini -f m -P 100
	says 'threads 1'
	expect 0 "$T" runs show last --db runs.db --json
	prints '"threads":1,'
}

# the state of the optimizer was lost
B044_adagrad_goes_on_where_it_stopped() {
	make_rows 600 1 >all.tsv
	head -n 300 all.tsv >a.tsv
	tail -n 300 all.tsv >b.tsv
	make_spec s.ini
	for optimizer in adagrad adam; do
		rm -rf all a
		expect 0 "$T" train s.ini -f all -d all.tsv -o data.shuffle=no -o train.optimizer=$optimizer
		expect 0 "$T" train s.ini -f a -d a.tsv -o data.shuffle=no -o train.optimizer=$optimizer
		expect 0 "$T" train s.ini -f a -i a -d b.tsv -o data.shuffle=no -o train.optimizer=$optimizer
		dump all >one; dump a >two
		same one two "$optimizer: half and half is not the whole"
	done
}

# only the dense weights came back
B049_every_table_is_restored() {
	make_rows 500 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	head -n 1 train.tsv >one.tsv
	expect 0 "$T" train s.ini -f next -i m -d one.tsv
	expect 0 "$T" inspect next --diff m
	[ "$(grep -c '^table .*changed rows 1 ' out)" -eq 4 ] || { cat out; exit 1; }
}

# the best figure was forgotten when a run went on
B057_the_best_of_before_the_interruption_is_kept() {
	make_rows 4000 1 >train.tsv
	make_rows 500 2 >valid.tsv
	make_spec s.ini
	set -- train s.ini -j 1 --valid valid.tsv --epochs 12 -o train.early_stop=0 -o train.learning_rate=0.05 --json
	expect 0 "$T" "$@" -f whole
	tail -n 1 out | sed 's/.*"best_epoch":\([0-9]*\).*/\1/' >best
	[ "$(cat best)" -lt 12 ] || { echo 'the last epoch is the best, so nothing is tested'; exit 1; }
	"$T" "$@" -f part >out 2>err & pid=$!
	sleep 0.4
	kill -TERM $pid
	ends $pid
	if [ $code -eq 143 ]; then expect 0 "$T" "$@" -f part --resume; fi
	[ "$(tail -n 1 out | sed 's/.*"best_epoch":\([0-9]*\).*/\1/')" = "$(cat best)" ] || { tail -n 1 out; exit 1; }
	dump whole >one; dump part >two
	same one two 'the interrupted run kept other weights'
}

# cron could not tell a lock from a bad configuration
B112_a_lock_a_bad_spec_and_bad_data_have_codes_of_their_own() {
	command -v flock >/dev/null || return 0
	make_rows 200 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	(
		flock 9
		expect 75 "$T" train s.ini -f m --fresh
	) 9>>m/LOCK || exit 1
	expect 78 "$T" train s.ini -f m --fresh -o train.epoch=2
	printf '5\tu\ti\t1\n' >bad.tsv
	expect 65 "$T" train s.ini -f m --fresh -d bad.tsv
	expect 66 "$T" train s.ini -f m --fresh -d nowhere.tsv
}

# a lock file left behind by a killed process
B114_a_lock_that_was_left_behind_is_no_lock() {
	make_rows 200 1 >train.tsv
	make_spec s.ini
	expect 0 "$T" train s.ini -f m
	echo 4121 >m/LOCK
	expect 0 "$T" train s.ini -f m --fresh
	[ "$(cat m/CURRENT)" = v000002 ] || exit 1
}

# SIGKILL leaves a run that is shown as lost, SIGTERM one that is interrupted
B109_killed_runs_are_lost_and_stopped_ones_interrupted() {
	make_rows 20000 1 >train.tsv
	make_spec s.ini
	for signal in KILL TERM; do
		"$T" train s.ini -f "m$signal" --epochs 10000 2>err & pid=$!
		for i in $(seq 100); do
			sleep 0.1
			"$T" runs list --db runs.db --status running 2>/dev/null | grep -q running && break
		done
		kill -$signal $pid
		ends $pid
		case $signal in
		KILL) [ $code -eq 137 ] || exit 1; status=lost ;;
		TERM) [ $code -eq 143 ] || { cat err; exit 1; }; status=interrupted ;;
		esac
		expect 0 "$T" runs list --db runs.db --last 1
		prints " $status "
	done
}

run_cases "$SRCDIR/tests/cli/${0##*/}"
