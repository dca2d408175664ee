librs_a_SOURCES += src/embed/lookup.h 
