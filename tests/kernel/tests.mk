kernel_compare = tests/kernel/agree.c tests/kernel/agree.h tests/kernel/compare.c \
	tests/kernel/compare.h tests/kernel/compare_dense.c tests/kernel/compare_embed.c \
	tests/kernel/compare_segment.c tests/kernel/compare_cross.c tests/kernel/compare_loss.c \
	tests/kernel/compare_vector.c tests/kernel/compare_optimizer.c
check_PROGRAMS += tests/kernel/kernel_test
tests_kernel_kernel_test_SOURCES = tests/kernel/kernel_test.c $(kernel_compare)
check_PROGRAMS += tests/kernel/emulated_test
tests_kernel_emulated_test_SOURCES = tests/kernel/emulated_test.c tests/kernel/emulate.c \
	tests/kernel/emulate.h tests/kernel/emulate_set.c $(kernel_compare)
check_PROGRAMS += tests/kernel/ref_test
