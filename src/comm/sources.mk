librs_a_SOURCES += src/comm/frame.h src/comm/wire.h src/comm/keys.h src/comm/client.h
librs_a_SOURCES += src/comm/fields.h src/comm/job.h src/comm/member.h
librs_a_SOURCES += src/comm/frame.c
librs_a_SOURCES += src/comm/fields.c src/comm/job.c src/comm/client.c
