# tests of cli
EXTRA_DIST += tests/cli/train_data.sh
