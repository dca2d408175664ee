librs_a_SOURCES += src/cmd/command.h src/cmd/command_list.h
