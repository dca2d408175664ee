check_PROGRAMS += tests/models/models_test
tests_models_models_test_SOURCES = tests/models/models_test.c \
	tests/models/model_bed.c tests/models/model_bed.h
check_PROGRAMS += tests/models/cross_test
tests_models_cross_test_SOURCES = tests/models/cross_test.c \
	tests/models/model_bed.c tests/models/model_bed.h
check_PROGRAMS += tests/models/din_test
check_PROGRAMS += tests/models/emulated_test
tests_models_emulated_test_SOURCES = tests/models/emulated_test.c \
	tests/models/model_bed.c tests/models/model_bed.h \
	tests/kernel/emulate.c tests/kernel/emulate.h tests/kernel/emulate_set.c
