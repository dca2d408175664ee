librs_a_SOURCES += src/base/file.h src/base/hash.h src/base/json.h src/base/log.h src/base/memory.h src/base/number.h src/base/rng.h src/base/status.h src/base/thread.h 
