# tests of data
check_PROGRAMS += tests/data/source_test
