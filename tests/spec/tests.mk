# tests of spec
check_PROGRAMS += tests/spec/spec_test
check_PROGRAMS += tests/spec/spec_check_tower_test
check_PROGRAMS += tests/spec/figure_test
check_PROGRAMS += tests/spec/spec_check_din_test
check_PROGRAMS += tests/spec/spec_check_test
