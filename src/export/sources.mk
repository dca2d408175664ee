librs_a_SOURCES += src/export/program.c src/export/program.h src/export/program_build.c
librs_a_SOURCES += src/export/program_run.c src/export/program_run.h
librs_a_SOURCES += src/export/lower.c src/export/lower.h src/export/lower_fields.c src/export/lower_op.c
