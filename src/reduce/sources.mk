librs_a_SOURCES += src/reduce/reducer.h src/reduce/shm.c
librs_a_SOURCES += src/reduce/exchange.c src/reduce/exchange.h
librs_a_SOURCES += src/reduce/pushpull.c src/reduce/pushpull.h
librs_a_SOURCES += src/reduce/exchange_shm.c
librs_a_SOURCES += src/reduce/meeting.c src/reduce/meeting.h
