librs_a_SOURCES += \
	src/base/cores.c src/base/cores.h \
	src/base/failpoint.c src/base/failpoint.h \
	src/base/file.c src/base/file.h src/base/file_unnamed.c src/base/file_unnamed.h \
	src/base/half.h \
	src/base/hash.c src/base/hash.h \
	src/base/json.c src/base/json.h \
	src/base/log.c src/base/log.h \
	src/base/memory.c src/base/memory.h \
	src/base/number.c src/base/number.h \
	src/base/quota.c src/base/quota.h \
	src/base/rng.c src/base/rng.h \
	src/base/status.c src/base/status.h \
	src/base/system_log.c src/base/system_log.h \
	src/base/thread.c src/base/thread.h
librs_a_SOURCES += src/base/tree.h
