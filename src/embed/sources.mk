librs_a_SOURCES += src/embed/lookup.h src/embed/local.c
librs_a_SOURCES += src/embed/merge.c src/embed/merge.h
librs_a_SOURCES += src/embed/row_optimizer.c src/embed/row_optimizer.h
librs_a_SOURCES += src/embed/table.c src/embed/table.h
librs_a_SOURCES += src/embed/table_file.c src/embed/table_file.h
librs_a_SOURCES += src/embed/id_sort.c src/embed/id_sort.h src/embed/pushes.c src/embed/pushes.h
