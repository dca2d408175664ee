librs_a_SOURCES += src/reduce/reducer.h src/reduce/shm.c
