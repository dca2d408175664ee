librs_a_SOURCES += src/remote/body.h src/remote/parts.h src/remote/shard.h src/remote/lookup.h
librs_a_SOURCES += src/remote/collect.h src/remote/collect.c
librs_a_SOURCES += src/remote/collect_request.h src/remote/collect_request.c
librs_a_SOURCES += src/remote/body.c src/remote/parts.c
