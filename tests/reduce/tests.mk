# tests of reduce
check_PROGRAMS += tests/reduce/exchange_test tests/reduce/shm_test
EXTRA_DIST += tests/reduce/thread_exchange.h tests/reduce/plane_bed.h
