# tests of export
dist_check_SCRIPTS += tests/export/onnx.sh
EXTRA_DIST += tests/bench/big_export.sh tests/export/onnx_check.py tests/export/export_data.sh
check_PROGRAMS += tests/export/bundle_test
dist_check_SCRIPTS += tests/export/savedmodel.sh
EXTRA_DIST += tests/export/savedmodel.py
check_PROGRAMS += tests/export/tensorboard_test
dist_check_SCRIPTS += tests/export/tensorboard.sh
check_PROGRAMS += tests/export/arrays_test
tests_export_arrays_test_SOURCES = tests/export/arrays_test.c tests/export/npy_vectors.h
dist_check_SCRIPTS += tests/export/arrays.sh
EXTRA_DIST += tests/export/arrays_check.py
check_PROGRAMS += tests/export/program_test
EXTRA_DIST += tests/export/odd.ini tests/export/odd.awk
