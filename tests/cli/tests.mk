# tests of cli
EXTRA_DIST += tests/cli/train_data.sh
EXTRA_DIST += tests/cli/cases.sh tests/cli/models_data.sh
dist_check_SCRIPTS += tests/cli/retrieval.sh tests/cli/eval.sh tests/cli/predict.sh tests/cli/inspect.sh
dist_check_SCRIPTS += tests/cli/layers.sh tests/cli/cache.sh
dist_check_SCRIPTS += tests/cli/ranges.sh tests/cli/decay.sh
dist_check_SCRIPTS += tests/cli/faults_data.sh tests/cli/faults_runs.sh tests/cli/faults_tables.sh
dist_check_SCRIPTS += tests/cli/b033_comma_locale.sh
dist_check_SCRIPTS += tests/cli/train.sh tests/cli/precision.sh
dist_check_SCRIPTS += tests/cli/cron.sh tests/cli/cron_syslog.sh tests/cli/share.sh \
	tests/cli/share_logrotate.sh tests/cli/share_prometheus.sh tests/cli/share_systemd.sh
dist_check_SCRIPTS += tests/cli/train_ends.sh
dist_check_SCRIPTS += tests/cli/incremental.sh
dist_check_SCRIPTS += tests/cli/export.sh tests/cli/export_damage.sh
dist_check_SCRIPTS += tests/cli/incremental_retry.sh
dist_check_SCRIPTS += tests/cli/warm_start.sh tests/cli/resume_changed.sh
dist_check_SCRIPTS += tests/cli/kill_resume.sh
dist_check_SCRIPTS += tests/cli/damaged_model.sh
dist_check_SCRIPTS += tests/cli/synth.sh
dist_check_SCRIPTS += tests/cli/address_space.sh tests/cli/bench.sh tests/cli/bench_ratio.sh
EXTRA_DIST += tests/bench/limit_ratios.txt tests/bench/peers.sh tests/bench/peers_torch.py tests/bench/peers_lightgbm.py
dist_check_SCRIPTS += tests/cli/plan.sh tests/cli/k8s.sh
dist_check_SCRIPTS += tests/cli/options.sh tests/cli/arguments_fuzz.sh tests/cli/init.sh tests/cli/init_models.sh tests/cli/convert.sh tests/cli/configs.sh tests/cli/check.sh tests/cli/help.sh
dist_check_SCRIPTS += tests/cli/completion_zsh.sh tests/cli/completion_fish.sh
dist_check_SCRIPTS += tests/cli/threads.sh tests/cli/models.sh tests/cli/attention.sh tests/cli/odd_models.sh
dist_check_SCRIPTS += tests/cli/tfrecord.sh
dist_check_SCRIPTS += tests/cli/memory.sh
dist_check_SCRIPTS += tests/cli/lists.sh
dist_check_SCRIPTS += tests/cli/keygen.sh
dist_check_SCRIPTS += tests/cli/rollback.sh
dist_check_SCRIPTS += tests/cli/plot.sh
dist_check_SCRIPTS += tests/cli/gc.sh tests/cli/gc_rejected.sh
dist_check_SCRIPTS += tests/cli/rollback_incremental.sh
EXTRA_DIST += tests/cli/incremental_data.sh tests/bench/cron_daemon.sh tests/bench/drift.sh tests/bench/storage_auc.sh
dist_check_SCRIPTS += tests/cli/incremental_cron.sh tests/cli/incremental_crond.sh \
	tests/cli/incremental_damaged.sh tests/cli/incremental_disk.sh \
	tests/cli/incremental_faults.sh \
	tests/cli/incremental_kill.sh tests/cli/incremental_lines.sh
dist_check_SCRIPTS += tests/cli/require.sh
dist_check_SCRIPTS += tests/cli/follow.sh
dist_check_SCRIPTS += tests/cli/incremental_rotate.sh
dist_check_SCRIPTS += tests/cli/runs_export.sh tests/cli/runs_export_mlflow.sh
dist_check_SCRIPTS += tests/cli/recommend.sh
dist_check_SCRIPTS += tests/cli/runs_report.sh
dist_check_SCRIPTS += tests/cli/audit.sh
dist_check_SCRIPTS += tests/cli/exact.sh
dist_check_SCRIPTS += tests/cli/audit.sh tests/cli/inspect_data.sh
dist_check_SCRIPTS += tests/cli/exact.sh tests/cli/exact_tenants.sh
dist_check_SCRIPTS += tests/cli/audit.sh tests/cli/inspect_data.sh tests/cli/plan_memory.sh \
	tests/cli/inspect_exact.sh
dist_check_SCRIPTS += tests/cli/delta.sh
dist_check_SCRIPTS += tests/cli/delta.sh tests/cli/export_delta.sh
EXTRA_DIST += tests/cli/delta_reader.py
dist_check_SCRIPTS += tests/cli/audit.sh tests/cli/inspect_data.sh tests/cli/plan_memory.sh
dist_check_SCRIPTS += tests/cli/storage.sh
dist_check_SCRIPTS += tests/cli/device.sh
dist_check_SCRIPTS += tests/cli/hash_stack.sh
dist_check_SCRIPTS += tests/cli/delta_storage.sh
dist_check_SCRIPTS += tests/cli/retrieval_exact.sh
dist_check_SCRIPTS += tests/cli/spill.sh
EXTRA_DIST += tests/bench/spill.sh
dist_check_SCRIPTS += tests/cli/exact_fields.sh
