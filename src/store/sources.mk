librs_a_SOURCES += \
	src/store/process.c src/store/process.h \
	src/store/sql.c src/store/sql.h \
	src/store/store.c src/store/store.h \
	src/store/store_read.c
nodist_librs_a_SOURCES = src/store/schema_text.c
CLEANFILES += src/store/schema_text.c
EXTRA_DIST += share/schema.sql src/store/schema_text.awk

src/store/schema_text.c: share/schema.sql src/store/schema_text.awk
	$(AM_V_GEN)$(MKDIR_P) src/store && $(AWK) -f $(srcdir)/src/store/schema_text.awk \
		$(srcdir)/share/schema.sql > $@.tmp && mv $@.tmp $@
