check_PROGRAMS += tests/comm/frame_test tests/comm/keys_test
check_PROGRAMS += tests/comm/fields_test
check_PROGRAMS += tests/comm/job_test

if HAVE_ZMQ
check_PROGRAMS += tests/comm/wire_test tests/comm/wire_hostile_test tests/comm/wire_relay_test
tests_comm_wire_test_SOURCES = tests/comm/wire_test.c tests/comm/wire_bed.h
tests_comm_wire_hostile_test_SOURCES = tests/comm/wire_hostile_test.c tests/comm/wire_bed.h
tests_comm_wire_relay_test_SOURCES = tests/comm/wire_relay_test.c tests/comm/wire_bed.h
else
check_PROGRAMS += tests/comm/wire_none_test
endif
if HAVE_ZMQ
check_PROGRAMS += tests/comm/client_test
endif
check_PROGRAMS += tests/comm/control_test
