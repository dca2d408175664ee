check_PROGRAMS += tests/place/placement_test
tests_place_placement_test_SOURCES = tests/place/placement_test.c $(emulated_gpu)
check_PROGRAMS += tests/place/private_directory_test tests/place/supervisor_test
check_PROGRAMS += tests/place/environment_test
if HAVE_ZMQ
check_PROGRAMS += tests/place/coordinator_test tests/place/coordinator_restart_test
tests_place_coordinator_test_SOURCES = tests/place/coordinator_test.c tests/place/coordinator_bed.h
tests_place_coordinator_restart_test_SOURCES = \
	tests/place/coordinator_restart_test.c tests/place/coordinator_bed.h
endif
check_PROGRAMS += tests/place/roster_test
check_PROGRAMS += tests/place/job_db_test
