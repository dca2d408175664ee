# Fuzz targets over their corpora; tests/fuzz/run is the fuzzer.
EXTRA_DIST += tests/fuzz/run \
	tests/fuzz/corpus/body/gather tests/fuzz/corpus/body/keys tests/fuzz/corpus/body/sections \
	tests/fuzz/corpus/body/sum tests/fuzz/corpus/body/table tests/fuzz/corpus/body/values0 \
	tests/fuzz/corpus/body/values1 tests/fuzz/corpus/body/values2 tests/fuzz/corpus/fields/failure \
	tests/fuzz/corpus/fields/numbers tests/fuzz/corpus/fields/odd tests/fuzz/corpus/frame/ack \
	tests/fuzz/corpus/frame/cut tests/fuzz/corpus/frame/error tests/fuzz/corpus/frame/hello \
	tests/fuzz/corpus/frame/push tests/fuzz/corpus/frame/short tests/fuzz/corpus/keylist/cut \
	tests/fuzz/corpus/keylist/twice tests/fuzz/corpus/keylist/two tests/fuzz/corpus/ticket/cut \
	tests/fuzz/corpus/ticket/whole
fuzz_main = tests/fuzz/corpus_main.c tests/fuzz/fuzz.h
check_PROGRAMS += tests/fuzz/body_fuzz
tests_fuzz_body_fuzz_SOURCES = tests/fuzz/body_fuzz.c $(fuzz_main)
check_PROGRAMS += tests/fuzz/fields_fuzz
tests_fuzz_fields_fuzz_SOURCES = tests/fuzz/fields_fuzz.c $(fuzz_main)
check_PROGRAMS += tests/fuzz/frame_fuzz
tests_fuzz_frame_fuzz_SOURCES = tests/fuzz/frame_fuzz.c $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/shard/waiting tests/fuzz/corpus/shard/changes
EXTRA_DIST += tests/fuzz/corpus/shard/async tests/fuzz/corpus/shard/exact \
	tests/fuzz/corpus/shard/init \
	tests/fuzz/corpus/shard/pull tests/fuzz/corpus/shard/rows tests/fuzz/corpus/shard/ssp \
	tests/fuzz/corpus/shard/step
check_PROGRAMS += tests/fuzz/shard_fuzz
tests_fuzz_shard_fuzz_SOURCES = tests/fuzz/shard_fuzz.c $(fuzz_main)
EXTRA_DIST += tests/fuzz/corpus/journal/late tests/fuzz/corpus/journal/steps
check_PROGRAMS += tests/fuzz/journal_fuzz
tests_fuzz_journal_fuzz_SOURCES = tests/fuzz/journal_fuzz.c $(fuzz_main)
check_PROGRAMS += tests/fuzz/keylist_fuzz
tests_fuzz_keylist_fuzz_SOURCES = tests/fuzz/keylist_fuzz.c $(fuzz_main)
check_PROGRAMS += tests/fuzz/ticket_fuzz
tests_fuzz_ticket_fuzz_SOURCES = tests/fuzz/ticket_fuzz.c $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/receive/cut tests/fuzz/corpus/receive/error \
	tests/fuzz/corpus/receive/many tests/fuzz/corpus/receive/noend \
	tests/fuzz/corpus/receive/over tests/fuzz/corpus/receive/parts
if HAVE_ZMQ
check_PROGRAMS += tests/fuzz/receive_fuzz
tests_fuzz_receive_fuzz_SOURCES = tests/fuzz/receive_fuzz.c $(fuzz_main)
endif

EXTRA_DIST += tests/fuzz/corpus/ledger/cut tests/fuzz/corpus/ledger/empty \
	tests/fuzz/corpus/ledger/newer tests/fuzz/corpus/ledger/ranges \
	tests/fuzz/corpus/ledger/whole
check_PROGRAMS += tests/fuzz/ledger_fuzz
tests_fuzz_ledger_fuzz_SOURCES = tests/fuzz/ledger_fuzz.c $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/onnx/din \
	tests/fuzz/corpus/onnx/dlrm tests/fuzz/corpus/onnx/experts tests/fuzz/corpus/onnx/two
check_PROGRAMS += tests/fuzz/onnx_fuzz
tests_fuzz_onnx_fuzz_SOURCES = tests/fuzz/onnx_fuzz.c tests/fuzz/program_fuzz.h $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/savedmodel/dcn tests/fuzz/corpus/savedmodel/din
check_PROGRAMS += tests/fuzz/savedmodel_fuzz
tests_fuzz_savedmodel_fuzz_SOURCES = tests/fuzz/savedmodel_fuzz.c tests/fuzz/program_fuzz.h \
	tests/fuzz/place_fuzz.h $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/bundle/block tests/fuzz/corpus/bundle/file
check_PROGRAMS += tests/fuzz/bundle_fuzz
tests_fuzz_bundle_fuzz_SOURCES = tests/fuzz/bundle_fuzz.c tests/fuzz/place_fuzz.h $(fuzz_main)

EXTRA_DIST += tests/fuzz/corpus/arrays/fvecs tests/fuzz/corpus/arrays/npy \
	tests/fuzz/corpus/arrays/npz tests/fuzz/corpus/arrays/safetensors \
	tests/fuzz/corpus/arrays/text
check_PROGRAMS += tests/fuzz/arrays_fuzz
tests_fuzz_arrays_fuzz_SOURCES = tests/fuzz/arrays_fuzz.c $(fuzz_main)
