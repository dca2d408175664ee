EXTRA_DIST += tests/test.h tests/base/tree_files.h
check_PROGRAMS += \
	tests/base/cores_test \
	tests/base/failpoint_test \
	tests/base/file_test \
	tests/base/half_test \
	tests/base/hash_test \
	tests/base/json_test \
	tests/base/log_test \
	tests/base/memory_test \
	tests/base/number_test \
	tests/base/quota_test \
	tests/base/rng_test \
	tests/base/status_test \
	tests/base/thread_test
check_PROGRAMS += tests/base/file_unnamed_test
