# tests of remote
check_PROGRAMS += tests/remote/body_test
check_PROGRAMS += tests/remote/parts_test
check_PROGRAMS += tests/remote/journal_test
check_PROGRAMS += tests/remote/collect_test
check_PROGRAMS += tests/remote/lookup_residual_test

if HAVE_ZMQ
check_PROGRAMS += tests/remote/shard_test tests/remote/shard_values_test
check_PROGRAMS += tests/remote/shard_refuse_test tests/remote/shard_hold_test
check_PROGRAMS += tests/remote/shard_journal_test
tests_remote_shard_journal_test_SOURCES = tests/remote/shard_journal_test.c tests/remote/shard_bed.h
check_PROGRAMS += tests/remote/shard_shortage_test
tests_remote_shard_shortage_test_SOURCES = tests/remote/shard_shortage_test.c tests/remote/shard_bed.h \
	tests/allocations.c tests/allocations.h tests/open_files.h
check_PROGRAMS += tests/remote/shard_readers_test
tests_remote_shard_readers_test_SOURCES = tests/remote/shard_readers_test.c tests/remote/shard_bed.h
tests_remote_shard_hold_test_SOURCES = tests/remote/shard_hold_test.c tests/remote/shard_bed.h
tests_remote_shard_refuse_test_SOURCES = tests/remote/shard_refuse_test.c tests/remote/shard_bed.h
tests_remote_shard_test_SOURCES = tests/remote/shard_test.c tests/remote/shard_bed.h
tests_remote_shard_values_test_SOURCES = tests/remote/shard_values_test.c tests/remote/shard_bed.h
endif
EXTRA_DIST += tests/remote/lookup_bed.h
if HAVE_ZMQ
check_PROGRAMS += tests/remote/lookup_test
check_PROGRAMS += tests/remote/lookup_files_test
check_PROGRAMS += tests/remote/offer_test
endif
