# tests of reduce
check_PROGRAMS += tests/reduce/exchange_test tests/reduce/shm_test
check_PROGRAMS += tests/reduce/exchange_shm_test
EXTRA_DIST += tests/reduce/thread_exchange.h tests/reduce/shm_bed.h tests/reduce/plane_bed.h
check_PROGRAMS += tests/reduce/mpi_test
check_PROGRAMS += tests/reduce/mpi_job_test
check_PROGRAMS += tests/reduce/pushpull_test
check_PROGRAMS += tests/reduce/meeting_test
check_PROGRAMS += tests/reduce/courier_test
check_PROGRAMS += tests/reduce/nccl_test
check_PROGRAMS += tests/reduce/nccl_exchange_test
nccl_double = tests/reduce/nccl_double.c tests/reduce/nccl_double.h
check_PROGRAMS += tests/reduce/nccl_reducer_test
tests_reduce_nccl_reducer_test_SOURCES = tests/reduce/nccl_reducer_test.c $(nccl_double) \
	$(emulated_gpu)
check_PROGRAMS += tests/reduce/nccl_mesh_test
tests_reduce_nccl_mesh_test_SOURCES = tests/reduce/nccl_mesh_test.c $(nccl_double) $(emulated_gpu)
tests_reduce_nccl_exchange_test_SOURCES = tests/reduce/nccl_exchange_test.c $(nccl_double) \
	$(emulated_gpu)
