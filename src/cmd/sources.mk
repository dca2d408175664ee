librs_a_SOURCES += src/cmd/command.h src/cmd/command_list.h
librs_a_SOURCES += \
	src/cmd/layout.c src/cmd/layout.h \
	src/cmd/require.c src/cmd/require.h \
	src/cmd/runs.c src/cmd/runs.h \
	src/cmd/runs_compare.c src/cmd/runs_list.c src/cmd/runs_show.c
