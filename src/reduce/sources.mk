librs_a_SOURCES += src/reduce/reducer.h 
