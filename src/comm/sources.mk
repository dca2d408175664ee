librs_a_SOURCES += src/comm/frame.h src/comm/wire.h src/comm/keys.h src/comm/client.h
librs_a_SOURCES += src/comm/fields.h src/comm/job.h src/comm/member.h
librs_a_SOURCES += src/comm/fields.c src/comm/job.c src/comm/client.c
librs_a_SOURCES += src/comm/monitor.h src/comm/monitor.c src/comm/member.c
librs_a_SOURCES += src/comm/control.h src/comm/control.c
librs_a_SOURCES += src/comm/member_private.h src/comm/member_thread.c
librs_a_SOURCES += src/comm/frame.c src/comm/keys.c src/comm/keys_list.c src/comm/keys_pair.h

if HAVE_ZMQ
librs_a_SOURCES += src/comm/keys_zmq.c src/comm/zap.c src/comm/zap.h \
	src/comm/wire.c src/comm/wire_message.c src/comm/wire_monitor.c src/comm/wire_private.h
else
librs_a_SOURCES += src/comm/keys_none.c src/comm/wire_none.c
endif
librs_a_SOURCES += src/comm/collective.h
