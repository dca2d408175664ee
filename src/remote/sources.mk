librs_a_SOURCES += src/remote/body.h src/remote/parts.h src/remote/shard.h src/remote/lookup.h
librs_a_SOURCES += src/remote/collect.h
librs_a_SOURCES += src/remote/body.c src/remote/parts.c
