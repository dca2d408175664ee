# Fuzz targets over their corpora; tests/fuzz/run is the fuzzer.
EXTRA_DIST += tests/fuzz/run \
	tests/fuzz/corpus/frame/ack tests/fuzz/corpus/frame/cut tests/fuzz/corpus/frame/error \
	tests/fuzz/corpus/frame/hello tests/fuzz/corpus/frame/push tests/fuzz/corpus/frame/short
check_PROGRAMS += tests/fuzz/frame_fuzz
tests_fuzz_frame_fuzz_SOURCES = tests/fuzz/frame_fuzz.c tests/fuzz/corpus_main.c tests/fuzz/fuzz.h

EXTRA_DIST += tests/fuzz/corpus/shard/async tests/fuzz/corpus/shard/init \
	tests/fuzz/corpus/shard/pull tests/fuzz/corpus/shard/rows tests/fuzz/corpus/shard/ssp \
	tests/fuzz/corpus/shard/step
check_PROGRAMS += tests/fuzz/shard_fuzz
tests_fuzz_shard_fuzz_SOURCES = tests/fuzz/shard_fuzz.c tests/fuzz/corpus_main.c tests/fuzz/fuzz.h
