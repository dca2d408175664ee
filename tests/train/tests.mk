# tests of train
check_PROGRAMS += tests/train/metric_test
check_PROGRAMS += tests/train/monitor_test
check_PROGRAMS += tests/train/ranking_test
check_PROGRAMS += tests/train/retrieval_test
check_PROGRAMS += tests/train/top_test
check_PROGRAMS += tests/train/schedule_test
check_PROGRAMS += tests/train/manifest_test
check_PROGRAMS += tests/train/step_test
tests_train_step_test_SOURCES = tests/train/step_test.c tests/train/step_case.c tests/train/step_case.h
check_PROGRAMS += tests/train/step_quiet_test
tests_train_step_quiet_test_SOURCES = tests/train/step_quiet_test.c tests/train/step_case.c \
	tests/train/step_case.h tests/allocations.c tests/allocations.h
check_PROGRAMS += tests/train/checkpoint_lock_test
check_PROGRAMS += tests/train/checkpoint_test
tests_train_checkpoint_test_SOURCES = tests/train/checkpoint_test.c tests/embed/touch.h
check_PROGRAMS += tests/train/checkpoint_memory_test
tests_train_checkpoint_memory_test_SOURCES = tests/train/checkpoint_memory_test.c \
	tests/allocations.c tests/allocations.h tests/open_files.h
check_PROGRAMS += tests/train/delta_test
check_PROGRAMS += tests/train/model_test
check_PROGRAMS += tests/train/frequency_test
check_PROGRAMS += tests/train/contrast_test
tests_train_contrast_test_SOURCES = tests/train/contrast_test.c tests/train/contrast_case.c tests/train/contrast_case.h
check_PROGRAMS += tests/train/contrast_step_test
tests_train_contrast_step_test_SOURCES = tests/train/contrast_step_test.c tests/train/contrast_case.c tests/train/contrast_case.h
check_PROGRAMS += tests/train/place_test
place_sources = tests/train/place_run.c tests/train/place_run.h tests/train/place_hub.c tests/train/place_hub.h
tests_train_place_test_SOURCES = tests/train/place_test.c $(place_sources)
check_PROGRAMS += tests/train/place_failure_test
tests_train_place_failure_test_SOURCES = tests/train/place_failure_test.c $(place_sources)
check_PROGRAMS += tests/train/replicated_test
check_PROGRAMS += tests/train/dealer_test
tests_train_dealer_test_SOURCES = tests/train/dealer_test.c $(place_sources)
check_PROGRAMS += tests/train/buckets_test
tests_train_buckets_test_SOURCES = tests/train/buckets_test.c tests/train/contrast_case.c tests/train/contrast_case.h
check_PROGRAMS += tests/train/ledger_test
check_PROGRAMS += tests/train/gate_test
check_PROGRAMS += tests/train/trial_influence_test
check_PROGRAMS += tests/train/trial_test
check_PROGRAMS += tests/train/publish_test
tests_train_publish_test_SOURCES = tests/train/publish_test.c tests/train/publish_case.c tests/train/publish_case.h
check_PROGRAMS += tests/train/checkpoint_unused_test
check_PROGRAMS += tests/train/live_test
tests_train_live_test_SOURCES = tests/train/live_test.c $(place_sources)
check_PROGRAMS += tests/train/dense_adopt_test
intake_case = tests/train/intake_case.c tests/train/intake_case.h
check_PROGRAMS += tests/train/intake_named_test
tests_train_intake_named_test_SOURCES = tests/train/intake_named_test.c $(intake_case)
check_PROGRAMS += tests/train/intake_rows_test
tests_train_intake_rows_test_SOURCES = tests/train/intake_rows_test.c $(intake_case)
check_PROGRAMS += tests/train/intake_time_test
check_PROGRAMS += tests/train/publish_kill_test
tests_train_publish_kill_test_SOURCES = tests/train/publish_kill_test.c tests/train/publish_case.c tests/train/publish_case.h
check_PROGRAMS += tests/train/intake_once_test
tests_train_intake_once_test_SOURCES = tests/train/intake_once_test.c $(intake_case)
check_PROGRAMS += tests/train/intake_logs_test
tests_train_intake_logs_test_SOURCES = tests/train/intake_logs_test.c $(intake_case)
check_PROGRAMS += tests/train/live_choose_test
check_PROGRAMS += tests/train/gpu_test
gpu_case = tests/train/gpu_case.c tests/train/gpu_case.h tests/train/step_case.c \
	tests/train/step_case.h tests/train/contrast_case.c tests/train/contrast_case.h
tests_train_gpu_test_SOURCES = tests/train/gpu_test.c tests/train/gpu_bed.h $(gpu_case) $(emulated_gpu)
check_PROGRAMS += tests/train/gpu_room_test
tests_train_gpu_room_test_SOURCES = tests/train/gpu_room_test.c $(emulated_gpu)
check_PROGRAMS += tests/train/gpu_replay_test
tests_train_gpu_replay_test_SOURCES = tests/train/gpu_replay_test.c tests/train/gpu_bed.h $(gpu_case) \
	$(emulated_gpu)
EXTRA_DIST += tests/train/gpu_cuda_test.c
if HAVE_CUDA
gpu_tests += tests/train/gpu_cuda_test
check_PROGRAMS += tests/train/gpu_cuda_test
tests_train_gpu_cuda_test_SOURCES = tests/train/gpu_cuda_test.c $(gpu_case)
endif
check_PROGRAMS += tests/train/gpu_spread_test
tests_train_gpu_spread_test_SOURCES = tests/train/gpu_spread_test.c tests/train/gpu_bed.h $(gpu_case) \
	$(emulated_gpu) $(nccl_double)
check_PROGRAMS += tests/train/gpu_spread_run_test
tests_train_gpu_spread_run_test_SOURCES = tests/train/gpu_spread_run_test.c tests/train/gpu_bed.h \
	$(place_sources) $(emulated_gpu) $(nccl_double)
check_PROGRAMS += tests/train/gpu_run_test
tests_train_gpu_run_test_SOURCES = tests/train/gpu_run_test.c tests/train/gpu_bed.h $(place_sources) $(emulated_gpu)
check_PROGRAMS += tests/train/nccl_run_test
tests_train_nccl_run_test_SOURCES = tests/train/nccl_run_test.c tests/train/gpu_bed.h $(place_sources) \
	$(emulated_gpu) $(nccl_double)
