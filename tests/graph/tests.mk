check_PROGRAMS += tests/graph/gradient_test
check_PROGRAMS += tests/graph/graph_test
