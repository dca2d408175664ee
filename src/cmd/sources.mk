librs_a_SOURCES += src/cmd/command.h 
