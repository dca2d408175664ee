# tests of remote
check_PROGRAMS += tests/remote/body_test
check_PROGRAMS += tests/remote/parts_test
check_PROGRAMS += tests/remote/collect_test
check_PROGRAMS += tests/remote/lookup_residual_test
