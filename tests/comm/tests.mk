check_PROGRAMS += tests/comm/frame_test
check_PROGRAMS += tests/comm/fields_test
check_PROGRAMS += tests/comm/job_test
