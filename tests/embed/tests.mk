# tests of embed
check_PROGRAMS += tests/embed/local_test
check_PROGRAMS += tests/embed/table_file_test
check_PROGRAMS += tests/embed/merge_test
check_PROGRAMS += tests/embed/id_sort_test
check_PROGRAMS += tests/embed/decay_test
check_PROGRAMS += tests/embed/admission_test
check_PROGRAMS += tests/embed/evict_test
check_PROGRAMS += tests/embed/expiry_test
check_PROGRAMS += tests/embed/waiting_test
check_PROGRAMS += tests/embed/numpy_test
EXTRA_DIST += tests/embed/numpy_check.py
check_PROGRAMS += tests/embed/exact_test tests/embed/exact_lookup_test
check_PROGRAMS += tests/embed/tenancy_test
check_PROGRAMS += tests/bench/exact_rows
EXTRA_DIST += tests/bench/collisions.sh
check_PROGRAMS += tests/embed/rows_delta_test
check_PROGRAMS += tests/embed/row_test tests/embed/storage_test
