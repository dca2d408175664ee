librs_a_SOURCES += src/data/batch.h src/data/fit.h src/data/loader.h src/data/parser.h src/data/schema.h src/data/source.h 
librs_a_SOURCES += src/data/source.c src/data/source_private.h
librs_a_SOURCES += src/data/source_command.c
librs_a_SOURCES += src/data/source_expand.c
librs_a_SOURCES += src/data/source_gzip.c
