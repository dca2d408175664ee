#!/bin/sh
# Rows of the list of faults that show in runs of many processes, a case each.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
. "$SRCDIR/tests/cli/cases.sh"

# data: rows and a spec in the directory of the case.
data() {
	make_rows 3000 1 >train.tsv
	make_rows 600 2 >valid.tsv
	make_spec s.ini
}

# both OPTION...: the run of one process and of processes end with one model; PLACE
# says how many.
both() {
	expect 0 "$T" train s.ini -f one $JOB -q "$@"
	# shellcheck disable=SC2086
	expect 0 timeout -k 9 90 "$T" train s.ini -f many $JOB -q ${PLACE---workers 3 --ps 2} "$@"
	dump one >one.txt
	dump many >many.txt
	same one.txt many.txt "$case: another model"
}

# auc: of the last line of the last expect.
auc() { tail -n 1 out | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p'; }

# A table saved while rows are learned has weights and state of one moment, all finite.
L002_versions_saved_in_between_are_whole() {
	data
	both --epochs 3 -o train.checkpoint_every=0.01 -o train.keep=1000 -o embedding.optimizer=adam
	n=0
	for version in many/v*; do
		mkdir -p "copy$n"
		cp -r "$version" "copy$n/"
		"$T" inspect "copy$n" --dump text >"copy$n.txt" || exit 1
		! grep -qiE '[ :](nan|inf)' "copy$n.txt" || { echo "$version is not finite" >&2; exit 1; }
		n=$((n + 1))
	done
	[ $n -ge 3 ] || { echo "only $n versions" >&2; exit 1; }
	expect 0 "$T" eval copy0 valid.tsv
}

# What a shard did is in the record, so that a hot one is seen.
L013_the_record_counts_the_requests_of_every_shard() {
	data
	both --epochs 1
	expect 0 "$T" runs show last --metrics --json
	for shard in 0 1; do
		grep -q "shard.$shard.pulls" out || { echo "shard $shard is not counted" >&2; exit 1; }
	done
}

# Tables of other widths have slots of other sizes in one shard.
L017_adam_state_of_tables_of_other_widths_stays_apart() {
	data
	cat >>s.ini <<-END
	[field wide]
	column = 2
	buckets = 300
	dim = 16
	END
	PLACE='--workers 2 --ps 1' both --epochs 2 -o model.type=wide_deep -o embedding.optimizer=adam
}

# Figures of the training run are those of a program that reads weights alone.
L020_scores_need_no_optimizer_state() {
	data
	expect 0 timeout -k 9 60 "$T" train s.ini -f m $JOB --valid valid.tsv --epochs 1 --json -P none \
		--workers 2 --ps 2
	auc >trained
	expect 0 "$T" eval m valid.tsv --json
	auc >scored
	[ -s trained ] || { cat out >&2; exit 1; }
	same trained scored 'another AUC than in training'
	expect 0 "$T" train s.ini -f kept $JOB -q --epochs 1 -i m
	expect 0 "$T" train s.ini -f reset $JOB -q --epochs 1 -i m --reset-optimizer
	dump kept >a && dump reset >b
	! cmp -s a b || { echo 'the state makes no difference?' >&2; exit 1; }
}

# Two fields of one table, with one accumulator a row.
L026_shared_tables_learn_with_rowwise_adagrad() {
	data
	cat >>s.ini <<-END
	[field other]
	column = 3
	buckets = 200
	share = item
	END
	both --epochs 2 -o embedding.optimizer=rowwise_adagrad
	awk '$1 == "item" && NF > 3 && ($3 > .01 || $3 < -.01) { n++ } END { exit n < 5 }' many.txt ||
		{ echo 'rows of the shared table are still as at the start' >&2; exit 1; }
}

# Ids that training never had are scored, and the figures are those of one process.
L037_unseen_ids_are_scored_by_every_worker_alike() {
	data
	awk -F '\t' -v OFS='\t' 'NR % 3 == 0 { $2 = "new" NR } { print }' valid.tsv >unseen.tsv
	both --valid unseen.tsv --epochs 2
	expect 0 "$T" runs list --json
	sed 's/},{/}\n{/g' out | sed -n 's/.*"auc":\([0-9.]*\).*/\1/p' | sort -u >aucs
	[ "$(wc -l <aucs)" = 1 ] || { echo 'two AUCs' >&2; cat out >&2; exit 1; }
}

# What plan says that a process takes is not less than what it takes.
L039_processes_take_no_more_than_planned() {
	if grep -qE '__(asan|tsan)_init' "$T"; then
		echo 'a sanitizer needs memory of its own: not compared'
		return 0
	fi
	data
	set -- -o embedding.dim=64 -o train.batch_size=2000 -o train.slots=2
	sed -i 's/buckets = 200/buckets = 200000/' s.ini
	expect 0 "$T" plan s.ini --json --workers 2 --ps 2 "$@"
	planned_worker=$(sed -n 's/.*"worker_bytes":\([0-9]*\).*/\1/p' out)
	planned_shard=$(sed -n 's/.*"shard_bytes":\([0-9]*\).*/\1/p' out)
	timeout -k 9 120 "$T" train s.ini -f m -q -j 1 --epochs 8 --workers 2 --ps 2 "$@" \
		2>train.err &
	train=$!
	worker=0 shard=0
	while kill -0 $train 2>/dev/null; do
		for pid in $(nodes worker); do
			now=$(awk '/^VmHWM/ { print $2 * 1024 }' "/proc/$pid/status" 2>/dev/null)
			[ "${now:-0}" -gt $worker ] && worker=$now
		done
		for pid in $(nodes ps); do
			now=$(awk '/^VmHWM/ { print $2 * 1024 }' "/proc/$pid/status" 2>/dev/null)
			[ "${now:-0}" -gt $shard ] && shard=$now
		done
		sleep 0.05
	done
	ends $train; [ $code = 0 ] || { cat train.err >&2; exit 1; }
	echo "worker $worker of $planned_worker bytes planned, shard $shard of $planned_shard"
	[ $worker -gt 0 ] && [ $worker -le $((planned_worker / 10 * 11)) ] || exit 1
	[ $shard -gt 0 ] && [ $shard -le $((planned_shard / 10 * 11)) ] || exit 1
	# Nor is the plan so careful that it says nothing.
	[ $((2 * shard)) -ge "$planned_shard" ] || exit 1
}

# A worker that dies leaves nothing in the state of being worked on.
L048_rows_of_a_killed_worker_are_trained_and_counted_once() {
	data
	expect 0 "$T" train s.ini -f one $JOB -q --epochs 12
	"$T" train s.ini -f m $JOB -q --epochs 12 --workers 2 --ps 2 -o train.checkpoint_every=0.2 \
		2>train.err &
	train=$!
	begun m
	sleep "$(between 0.1 0.6)"
	kill -9 "$(nodes 'worker --index 1')" 2>/dev/null
	ends $train; [ $code = 0 ] || { cat train.err >&2; exit 1; }
	dump one >one.txt
	dump m >m.txt
	same one.txt m.txt "$case: another model"
	expect 0 "$T" runs show last --json
	prints '"status":"ok"'
	grep -q '"rows_read":3000,"rows_trained":3000,"rows_skipped":0' out || { cat out >&2; exit 1; }
}

# After a change of the number of workers the ledger still has every row once.
L053_a_resized_run_counts_every_row_once() {
	data
	expect 0 "$T" train s.ini -f one $JOB -q --epochs 6
	for place in '--workers 2 --ps 2' '--workers 1 --ps 1' '--workers 3 --ps 1'; do
		# shellcheck disable=SC2086
		"$T" train s.ini -f m $JOB -q --epochs 6 --resume $place 2>train.err &
		train=$!
		begun m
		sleep 0.25
		kill -TERM $train
		ends $train
		[ $code = 143 ] || [ $code = 0 ] || { echo "exit $code" >&2; cat train.err >&2; exit 1; }
	done
	expect 0 timeout -k 9 60 "$T" train s.ini -f m $JOB -q --epochs 6 --resume --workers 2 --ps 3
	dump one >one.txt
	dump m >m.txt
	same one.txt m.txt "$case: another model"
}

# A version of many shards has every table once.
L057_versions_of_many_shards_have_every_table_once() {
	data
	both --epochs 1
	(cd one/v* && ls) >one.files
	(cd many/v* && ls) >many.files
	same one.files many.files 'other files'
	[ "$(grep -c '^file = table-' many/v*/MANIFEST)" = 4 ] || { cat many/v*/MANIFEST >&2; exit 1; }
}

# Three workers train every row once, not three times, and none is left over.
L067_workers_share_the_rows() {
	data
	head -n 2903 train.tsv >odd.tsv
	both -d odd.tsv --epochs 2
	expect 0 "$T" runs show last --json
	prints '"rows":5806'
	grep -q '"rows_read":2903,"rows_trained":2903,"rows_skipped":0' out || { cat out >&2; exit 1; }
}

# Validation rows sorted by label: every worker sees one class only.
L069_the_auc_is_of_all_rows_not_a_mean_over_workers() {
	data
	sort valid.tsv >sorted.tsv
	for place in '' '--workers 2 --ps 1' '--workers 3 --ps 1'; do
		rm -rf m
		# shellcheck disable=SC2086
		expect 0 timeout -k 9 60 "$T" train s.ini -f m $JOB --valid sorted.tsv --epochs 1 --json \
			-P none $place
		auc >>aucs
	done
	[ "$(sort -u aucs | wc -l)" = 1 ] && [ "$(wc -l <aucs)" = 3 ] || { cat aucs >&2; exit 1; }
}

# Stopped, and gone on with by another number of processes: the curve of one run.
L071_a_resumed_run_has_the_state_of_its_optimizers() {
	data
	expect 0 "$T" train s.ini -f one $JOB -q --epochs 8 -o embedding.optimizer=adam
	"$T" train s.ini -f m $JOB -q --epochs 8 -o embedding.optimizer=adam --workers 2 --ps 2 \
		2>train.err &
	train=$!
	begun m
	sleep 0.3
	kill -TERM $train
	ends $train
	expect 0 timeout -k 9 60 "$T" train s.ini -f m $JOB -q --epochs 8 -o embedding.optimizer=adam \
		--resume --workers 3 --ps 1
	dump one >one.txt
	dump m >m.txt
	same one.txt m.txt "$case: another model"
}

run_cases "$SRCDIR/tests/dist/faults_jobs.sh"
