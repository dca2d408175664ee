check_PROGRAMS += tests/kernel/kernel_test
tests_kernel_kernel_test_SOURCES = tests/kernel/kernel_test.c \
	tests/kernel/compare.h tests/kernel/compare_segment.c tests/kernel/compare_vector.c \
	tests/kernel/compare_cross.c \
	tests/kernel/agree.c tests/kernel/agree.h
check_PROGRAMS += tests/kernel/ref_test
