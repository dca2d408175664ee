# tests of reduce
check_PROGRAMS += tests/reduce/shm_test
