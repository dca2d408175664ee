# tests of lib
recsys_case = tests/lib/recsys_case.c tests/lib/recsys_case.h tests/embed/touch.h
check_PROGRAMS += tests/lib/recsys_test
tests_lib_recsys_test_SOURCES = tests/lib/recsys_test.c $(recsys_case)
check_PROGRAMS += tests/lib/recsys_tower_test
tests_lib_recsys_tower_test_SOURCES = tests/lib/recsys_tower_test.c $(recsys_case)
check_PROGRAMS += tests/lib/recsys_reload_test
tests_lib_recsys_reload_test_SOURCES = tests/lib/recsys_reload_test.c $(recsys_case)
check_PROGRAMS += tests/lib/recsys_quiet_test
tests_lib_recsys_quiet_test_SOURCES = tests/lib/recsys_quiet_test.c $(recsys_case) \
	tests/allocations.c tests/allocations.h
check_PROGRAMS += tests/lib/mapped_index_test
dist_check_SCRIPTS += tests/lib/recsys_install_test.sh
check_PROGRAMS += tests/bench/recsys_rows
tests_bench_recsys_rows_SOURCES = tests/bench/recsys_rows.c tests/embed/touch.h
dist_check_SCRIPTS += tests/lib/recsys_exact_test.sh
dist_check_SCRIPTS += tests/lib/recsys_int8_test.sh
EXTRA_DIST += tests/lib/recsys_score.py
