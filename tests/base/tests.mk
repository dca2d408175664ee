EXTRA_DIST += tests/test.h
check_PROGRAMS += \
	tests/base/hash_test \
	tests/base/number_test \
	tests/base/rng_test
