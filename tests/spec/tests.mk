# tests of spec
check_PROGRAMS += tests/spec/spec_test
