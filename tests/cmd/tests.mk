# tests of cmd
check_PROGRAMS += tests/cmd/eval_groups_test tests/cmd/layout_test tests/cmd/require_test tests/cmd/runs_test
check_PROGRAMS += tests/cmd/textfile_test
check_PROGRAMS += tests/cmd/plot_test tests/cmd/runs_plot_test
check_PROGRAMS += tests/cmd/mlflow_test
check_PROGRAMS += tests/cmd/open_files_test
tests_cmd_runs_test_SOURCES = tests/cmd/runs_test.c tests/cmd/runs_bed.h
tests_cmd_runs_plot_test_SOURCES = tests/cmd/runs_plot_test.c tests/cmd/runs_bed.h
check_PROGRAMS += tests/cmd/bench_gpu_test
tests_cmd_bench_gpu_test_SOURCES = tests/cmd/bench_gpu_test.c tests/train/gpu_bed.h $(gpu_case) $(emulated_gpu)
check_PROGRAMS += tests/cmd/node_exchange_test
