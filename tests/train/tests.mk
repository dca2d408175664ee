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
tests_train_step_quiet_test_SOURCES = tests/train/step_quiet_test.c tests/train/step_case.c tests/train/step_case.h
check_PROGRAMS += tests/train/checkpoint_lock_test
check_PROGRAMS += tests/train/checkpoint_test
check_PROGRAMS += tests/train/model_test
check_PROGRAMS += tests/train/frequency_test
check_PROGRAMS += tests/train/contrast_test
tests_train_contrast_test_SOURCES = tests/train/contrast_test.c tests/train/contrast_case.c tests/train/contrast_case.h
