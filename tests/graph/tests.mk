check_PROGRAMS += tests/graph/gradient_test
tests_graph_gradient_test_SOURCES = tests/graph/gradient_test.c \
	tests/graph/gradient_bed.c tests/graph/gradient_bed.h
check_PROGRAMS += tests/graph/gradient_cross_test
tests_graph_gradient_cross_test_SOURCES = tests/graph/gradient_cross_test.c \
	tests/graph/gradient_bed.c tests/graph/gradient_bed.h
check_PROGRAMS += tests/graph/graph_test tests/graph/layer_test
check_PROGRAMS += tests/graph/fold_test
tests_graph_fold_test_SOURCES = tests/graph/fold_test.c \
	tests/graph/gradient_bed.c tests/graph/gradient_bed.h
