check_PROGRAMS += tests/graph/gradient_test
