librs_a_SOURCES += src/store/store.h 
