check_PROGRAMS += tests/comm/frame_test
