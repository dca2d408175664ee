librs_a_SOURCES += src/cmd/command.h src/cmd/command_list.h \
	src/cmd/arguments.c src/cmd/arguments.h \
	src/cmd/check.c src/cmd/check_data.c src/cmd/check_data.h \
	src/cmd/distinct.c src/cmd/distinct.h \
	src/cmd/command_spec.c src/cmd/command_spec.h src/cmd/command_table.c \
	src/cmd/completion.c src/cmd/cron.c src/cmd/cron.h src/cmd/environment.c \
	src/cmd/draft.c src/cmd/draft.h src/cmd/draft_fields.c src/cmd/draft_model.c src/cmd/draft_sparse.c \
	src/cmd/guess.c src/cmd/guess.h src/cmd/guess_relation.c src/cmd/guess_relation.h \
	src/cmd/init.c src/cmd/sample.c src/cmd/sample.h src/cmd/sample_records.c \
	src/cmd/help.c src/cmd/help.h src/cmd/help_mdoc.c src/cmd/help_sample.c \
	src/cmd/output.c src/cmd/process.c src/cmd/process.h
librs_a_SOURCES += \
	src/cmd/layout.c src/cmd/layout.h \
	src/cmd/require.c src/cmd/require.h \
	src/cmd/runs.c src/cmd/runs.h \
	src/cmd/plot.c src/cmd/plot.h src/cmd/plot_gnuplot.c \
	src/cmd/runs_compare.c src/cmd/runs_list.c src/cmd/runs_plot.c src/cmd/runs_show.c
librs_a_SOURCES += \
	src/cmd/dump.c src/cmd/dump.h \
	src/cmd/inspect.c \
	src/cmd/id_set.c src/cmd/id_set.h \
	src/cmd/inspect_collisions.c src/cmd/inspect_collisions.h \
	src/cmd/inspect_feature.c src/cmd/inspect_feature.h \
	src/cmd/inspect_ledger.c src/cmd/inspect_ledger.h \
	src/cmd/inspect_names.c src/cmd/inspect_names.h \
	src/cmd/inspect_tables.c src/cmd/inspect_tables.h \
	src/cmd/model_data.c src/cmd/model_data.h \
	src/cmd/model_diff.c src/cmd/model_diff.h \
	src/cmd/model_files.c src/cmd/model_files.h
librs_a_SOURCES += src/cmd/progress.c src/cmd/progress.h
librs_a_SOURCES += src/cmd/record.c src/cmd/record.h
librs_a_SOURCES += src/cmd/session.c src/cmd/session.h src/cmd/session_device.c
librs_a_SOURCES += src/cmd/train.c
librs_a_SOURCES += src/cmd/train_incremental.c src/cmd/train_incremental.h \
	src/cmd/incremental_past.c src/cmd/incremental_past.h \
	src/cmd/incremental_check.c src/cmd/incremental_check.h \
	src/cmd/incremental_sound.c src/cmd/incremental_sound.h
librs_a_SOURCES += src/cmd/keygen.c
librs_a_SOURCES += src/cmd/job_period.c src/cmd/job_period.h
librs_a_SOURCES += src/cmd/node_period.c src/cmd/node_period.h
librs_a_SOURCES += src/cmd/node.c src/cmd/node.h src/cmd/node_coordinator.c src/cmd/node_ps.c src/cmd/node_worker.c \
	src/cmd/node_hosts.c src/cmd/job_spec.c src/cmd/job_spec.h
librs_a_SOURCES += src/cmd/node_keys.c src/cmd/node_exchange.c src/cmd/node_exchange.h \
	src/cmd/node_shards.c src/cmd/node_shards.h
librs_a_SOURCES += src/cmd/launch.c src/cmd/launch_here.c src/cmd/launch_host.c src/cmd/launch_private.h
librs_a_SOURCES += src/cmd/launched.c src/cmd/launched.h src/cmd/launched_private.h \
	src/cmd/launched_address.c src/cmd/launched_children.c src/cmd/launched_meet.c
librs_a_SOURCES += src/cmd/train.c src/cmd/train_job.c src/cmd/train_job.h
librs_a_SOURCES += src/cmd/node.c src/cmd/node.h src/cmd/node_coordinator.c src/cmd/node_ps.c src/cmd/node_worker.c
librs_a_SOURCES += src/cmd/train.c src/cmd/train_job.c src/cmd/train_job.h
librs_a_SOURCES += src/cmd/synth.c src/cmd/synth.h src/cmd/synth_criteo.c src/cmd/synth_draw.c src/cmd/synth_log.c \
	src/cmd/synth_retrieval.c src/cmd/synth_sequence.c
librs_a_SOURCES += src/cmd/eval.c src/cmd/eval_groups.c src/cmd/eval_groups.h
librs_a_SOURCES += src/cmd/best_items.c src/cmd/best_items.h
librs_a_SOURCES += src/cmd/predict.c src/cmd/scorer.c src/cmd/scorer.h \
	src/cmd/scorer_follow.c src/cmd/scorer_private.h
librs_a_SOURCES += src/cmd/bench.c src/cmd/bench_measure.c src/cmd/bench_measure.h \
	src/cmd/bench_record.c src/cmd/bench_report.c src/cmd/bench_report.h \
	src/cmd/bench_data.c src/cmd/bench_data.h src/cmd/bench_input.c src/cmd/bench_input.h \
	src/cmd/bench_limit.c src/cmd/bench_limit.h \
	src/cmd/bench_spec.c src/cmd/bench_spec.h \
	src/cmd/bench_format.c src/cmd/bench_format.h \
	src/cmd/bench_gpu.c src/cmd/bench_gpu.h src/cmd/bench_shards.c src/cmd/bench_shards.h

# The commit that --version names: of the checkout, or 'release' outside of one.
CLEANFILES += src/cmd/commit.h
EXTRA_DIST += src/cmd/commit.sh
.PHONY: look-at-commit
src/cmd/commit.h: look-at-commit
	$(AM_V_at)$(MKDIR_P) src/cmd && sh $(srcdir)/src/cmd/commit.sh $(srcdir) $@
src/cmd/librs_a-help.$(OBJEXT): src/cmd/commit.h
librs_a_SOURCES += src/cmd/plan.c
librs_a_SOURCES += src/cmd/k8s.c
librs_a_SOURCES += src/cmd/node_status.c src/cmd/node_status.h
librs_a_SOURCES += src/cmd/textfile.c src/cmd/textfile.h
librs_a_SOURCES += src/cmd/model_spec.c src/cmd/model_spec.h src/cmd/rollback.c
librs_a_SOURCES += src/cmd/cache_files.c src/cmd/cache_files.h
librs_a_SOURCES += src/cmd/gc.c src/cmd/gc.h src/cmd/gc_files.c src/cmd/gc_keep.c src/cmd/gc_runs.c src/cmd/gc_scan.c
librs_a_SOURCES += src/cmd/export.c src/cmd/export.h src/cmd/export_proof.c src/cmd/export_proof.h \
	src/cmd/export_onnx.c src/cmd/export_savedmodel.c src/cmd/export_delta.c src/cmd/export_recsys.c
librs_a_SOURCES += src/cmd/row_inputs.c src/cmd/row_inputs.h
librs_a_SOURCES += src/cmd/export_arrays.c src/cmd/user_vectors.c src/cmd/user_vectors.h
librs_a_SOURCES += src/cmd/runs_export.c src/cmd/mlflow.c src/cmd/mlflow.h src/cmd/mlflow_schema.c
librs_a_SOURCES += src/cmd/predict.h src/cmd/recommend.c
librs_a_SOURCES += src/cmd/session_board.c src/cmd/session_board.h
librs_a_SOURCES += src/cmd/runs_report.c src/cmd/runs_report.h src/cmd/runs_report_svg.c
librs_a_SOURCES += src/cmd/audit.c
