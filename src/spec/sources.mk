librs_a_SOURCES += src/spec/settings.h src/spec/spec.h 
