librs_a_SOURCES += src/spec/settings.h src/spec/spec.h src/spec/spec_private.h
librs_a_SOURCES += src/spec/figure.c src/spec/figure.h src/spec/spec_check_eval.c
librs_a_SOURCES += src/spec/ini.c src/spec/ini.h src/spec/pool.c src/spec/pool.h
librs_a_SOURCES += src/spec/value.c src/spec/value.h src/spec/option.c src/spec/option.h
librs_a_SOURCES += src/spec/option_table.c src/spec/option_table_place.h
librs_a_SOURCES += src/spec/spec.c src/spec/spec_check.c src/spec/spec_check_items.c
librs_a_SOURCES += src/spec/spec_check_tower.c src/spec/spec_check_din.c src/spec/spec_check_exact.c \
	src/spec/spec_check_list.c src/spec/spec_field.c
librs_a_SOURCES += src/spec/spec_nearest.c src/spec/spec_print.c src/spec/spec_read.c src/spec/spec_resolve.c
