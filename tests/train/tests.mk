# tests of train
check_PROGRAMS += tests/train/metric_test
check_PROGRAMS += tests/train/monitor_test
check_PROGRAMS += tests/train/schedule_test
check_PROGRAMS += tests/train/manifest_test
