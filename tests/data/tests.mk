# tests of data
check_PROGRAMS += tests/data/source_test
check_PROGRAMS += tests/data/schema_batch_test
