librs_a_SOURCES += src/kernel/kernel.h src/kernel/kernel_table.h src/kernel/kernel.c \
	src/kernel/narrow.h src/kernel/narrow.c src/kernel/narrow_rounded.c \
	src/kernel/ref/ref.h src/kernel/ref/ref_set.c src/kernel/ref/ref_dense.c \
	src/kernel/ref/ref_embed.c src/kernel/ref/ref_segment.c src/kernel/ref/ref_cross.c \
	src/kernel/ref/ref_loss.c \
	src/kernel/ref/ref_vector.c src/kernel/ref/ref_optimizer.c src/kernel/ref/ref_rows.c \
	src/kernel/cpu/cpu_table.h src/kernel/cpu/cpu_panel.h src/kernel/cpu/cpu_exp.h \
	src/kernel/cpu/cpu_blas.h src/kernel/cpu/cpu_blas.c

# Products of bfloat16.
if HAVE_ONEDNN
librs_a_SOURCES += src/kernel/onednn/onednn.h src/kernel/onednn/onednn_library.h \
	src/kernel/onednn/onednn.c src/kernel/onednn/onednn_layer.c
else
EXTRA_DIST += src/kernel/onednn/onednn.h src/kernel/onednn/onednn_library.h \
	src/kernel/onednn/onednn.c src/kernel/onednn/onednn_layer.c
endif

# The vector kernels, compiled once a level; -O2 of the user must not undo the
# vectorizer, so its passes are named one by one.
kernel_cpu_files = src/kernel/cpu/cpu_set.c src/kernel/cpu/cpu_dense.c src/kernel/cpu/cpu_embed.c \
	src/kernel/cpu/cpu_norm.c src/kernel/cpu/cpu_vector.c src/kernel/cpu/cpu_segment.c \
	src/kernel/cpu/cpu_cross.c \
	src/kernel/cpu/cpu_gemm.c src/kernel/cpu/cpu_panel.c src/kernel/cpu/cpu_zeros.c \
	src/kernel/cpu/cpu_round.c src/kernel/cpu/cpu_optimizer.c
kernel_cpu_cflags = $(AM_CFLAGS) -fPIC -ftree-vectorize -fvect-cost-model=dynamic -funswitch-loops \
	-fopenmp-simd -ffp-contract=fast

noinst_LIBRARIES += libkernel_baseline.a
libkernel_baseline_a_SOURCES = $(kernel_cpu_files)
libkernel_baseline_a_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_LEVEL=baseline
libkernel_baseline_a_CFLAGS = $(kernel_cpu_cflags)
librs_a_LIBADD = $(libkernel_baseline_a_OBJECTS)

if X86_LEVELS
noinst_LIBRARIES += libkernel_avx2.a libkernel_avx512.a
libkernel_avx2_a_SOURCES = $(kernel_cpu_files)
libkernel_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_LEVEL=avx2
libkernel_avx2_a_CFLAGS = $(kernel_cpu_cflags) -mavx2 -mfma -mbmi
libkernel_avx512_a_SOURCES = $(kernel_cpu_files)
libkernel_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_LEVEL=avx512
libkernel_avx512_a_CFLAGS = $(kernel_cpu_cflags) -mavx512f -mavx512bw -mavx512dq -mavx512vl \
	-mavx2 -mfma -mprefer-vector-width=512
librs_a_LIBADD += $(libkernel_avx2_a_OBJECTS) $(libkernel_avx512_a_OBJECTS)
endif

librs_a_SOURCES += src/kernel/device.c src/kernel/device.h src/kernel/gpu.c src/kernel/gpu.h
librs_a_SOURCES += src/kernel/gpu_mesh.h

# Kernels for GPUs; the program and the tests link them, the scoring library does not.
kernel_cuda_headers = src/kernel/cuda/cuda.h src/kernel/cuda/cuda_private.h \
	src/kernel/cuda/cuda_body.h src/kernel/cuda/cross_body.h \
	src/kernel/cuda/dense_body.h src/kernel/cuda/embed_body.h src/kernel/cuda/loss_body.h \
	src/kernel/cuda/optimizer_body.h src/kernel/cuda/rows_body.h \
	src/kernel/cuda/segment_body.h src/kernel/cuda/vector_body.h
kernel_cuda_files = src/kernel/cuda/cuda_look.c src/kernel/cuda/cuda_context.c \
	src/kernel/cuda/cuda_blas.c src/kernel/cuda/cuda_gpu.c src/kernel/cuda/cuda_set.cu
EXTRA_DIST += $(kernel_cuda_headers) $(kernel_cuda_files)
SUFFIXES = .cu
.cu.o:
	$(AM_V_GEN)$(NVCC) $(NVCC_FLAGS) $(NVCC_WARNINGS) $(CUDA_ARCH) -I$(top_srcdir)/src -c -o $@ $<
if HAVE_CUDA
noinst_LIBRARIES += libkernel_cuda.a
libkernel_cuda_a_SOURCES = $(kernel_cuda_files)
libkernel_cuda_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS) -DCUDA_LIBDIR='"$(CUDA_LIBDIR)"'
# Members of a work that a kernel does not use are left out and zero.
NVCC_WARNINGS = -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers
src/kernel/cuda/cuda_set.o: $(kernel_cuda_headers) src/kernel/kernel_table.h src/base/half.h src/base/rng.h
KERNEL_CUDA += libkernel_cuda.a librs.a $(CUDA_LIBS)
endif
