kernel_compare = tests/kernel/agree.c tests/kernel/agree.h tests/kernel/compare.c \
	tests/kernel/compare.h tests/kernel/compare_dense.c tests/kernel/compare_embed.c \
	tests/kernel/compare_segment.c tests/kernel/compare_cross.c tests/kernel/compare_loss.c \
	tests/kernel/compare_vector.c tests/kernel/compare_optimizer.c \
	tests/kernel/compare_rows.c
check_PROGRAMS += tests/kernel/kernel_test
tests_kernel_kernel_test_SOURCES = tests/kernel/kernel_test.c $(kernel_compare)
emulated_gpu = tests/kernel/emulate.c tests/kernel/emulate.h tests/kernel/emulate_set.c \
	tests/kernel/emulated_gpu.c tests/kernel/emulated_gpu.h
check_PROGRAMS += tests/kernel/emulated_test
tests_kernel_emulated_test_SOURCES = tests/kernel/emulated_test.c tests/kernel/emulate.c \
	tests/kernel/emulate.h tests/kernel/emulate_set.c $(kernel_compare)
check_PROGRAMS += tests/kernel/gpu_test
tests_kernel_gpu_test_SOURCES = tests/kernel/gpu_test.c $(emulated_gpu)
check_PROGRAMS += tests/kernel/ref_test
check_PROGRAMS += tests/kernel/narrow_test
product_bed = tests/kernel/product_bed.c tests/kernel/product_bed.h
check_PROGRAMS += tests/kernel/panel_test
tests_kernel_panel_test_SOURCES = tests/kernel/panel_test.c $(product_bed)
check_PROGRAMS += tests/kernel/zeros_test
tests_kernel_zeros_test_SOURCES = tests/kernel/zeros_test.c $(product_bed)

# What needs a GPU; each says so where there is none.
gpu_tests =
EXTRA_DIST += tests/kernel/cuda_test.c tests/kernel/cuda_look_test.c
if HAVE_CUDA
check_PROGRAMS += tests/kernel/cuda_look_test
tests_kernel_cuda_look_test_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
gpu_tests += tests/kernel/cuda_test tests/cli/gpu_figures.sh
check_PROGRAMS += tests/kernel/cuda_test
tests_kernel_cuda_test_SOURCES = tests/kernel/cuda_test.c $(kernel_compare)
endif

gpu_logs = $(gpu_tests:.sh=)
check-gpu: $(gpu_tests)
	@if test -z '$(strip $(gpu_tests))'; then echo 'SKIP: this build has no CUDA'; \
	else $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(gpu_tests)' \
		check_PROGRAMS='$(gpu_tests)' && \
		sed -n 's/^nothing ran/SKIP: nothing ran/p' $(gpu_logs:=.log) | sort -u; fi
.PHONY: check-gpu
