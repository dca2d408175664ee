check_PROGRAMS += tests/place/placement_test
check_PROGRAMS += tests/place/private_directory_test tests/place/supervisor_test
check_PROGRAMS += tests/place/environment_test
