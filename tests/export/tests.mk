# tests of export
dist_check_SCRIPTS += tests/export/onnx.sh
EXTRA_DIST += tests/export/onnx_check.py
