# tests of data
check_PROGRAMS += tests/data/source_test
check_PROGRAMS += tests/data/schema_batch_test
check_PROGRAMS += tests/data/loader_test tests/data/loader_resume_test tests/data/fit_test
tests_data_loader_test_SOURCES = tests/data/loader_test.c tests/data/loader_bed.c tests/data/loader_bed.h
tests_data_loader_resume_test_SOURCES = tests/data/loader_resume_test.c tests/data/loader_bed.c tests/data/loader_bed.h
tests_data_fit_test_SOURCES = tests/data/fit_test.c tests/data/loader_bed.c tests/data/loader_bed.h
check_PROGRAMS += tests/data/parser_test
check_PROGRAMS += tests/data/fast_cell_test
check_PROGRAMS += tests/data/lists_test
check_PROGRAMS += tests/data/list_test tests/data/cross_test
tests_data_list_test_SOURCES = tests/data/list_test.c tests/data/row_bed.h
tests_data_cross_test_SOURCES = tests/data/cross_test.c tests/data/row_bed.h
check_PROGRAMS += tests/data/example_test tests/data/example_files_test tests/data/example_fuzz_test
tests_data_example_test_SOURCES = tests/data/example_test.c tests/data/example_bed.h tests/data/row_bed.h
tests_data_example_files_test_SOURCES = tests/data/example_files_test.c tests/data/example_bed.h tests/data/loader_bed.c tests/data/loader_bed.h
tests_data_example_fuzz_test_SOURCES = tests/data/example_fuzz_test.c tests/data/example_bed.h tests/data/row_bed.h
