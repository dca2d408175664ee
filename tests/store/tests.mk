check_PROGRAMS += tests/store/store_test
