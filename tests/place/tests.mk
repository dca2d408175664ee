check_PROGRAMS += tests/place/placement_test
