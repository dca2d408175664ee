librs_a_SOURCES += src/data/batch.h src/data/fit.h src/data/loader.h src/data/parser.h src/data/schema.h src/data/source.h 
