# The scoring library: its few files, and of librs.a what they call, in one relocatable
# object in which all but the exported names are made local.  The archive is that object,
# the shared library is linked from it; no libtool, since every object is position
# independent.
librs_a_SOURCES += src/lib/mapped.c src/lib/mapped.h src/lib/version.c src/lib/version.h \
	src/lib/mapped_index.c src/lib/mapped_index.h \
	src/lib/recsys.c src/lib/recsys_scorer.c src/lib/recsys.h src/lib/recsys_private.h
EXTRA_DIST += src/lib/librecsys.map

include_HEADERS = src/lib/recsys.h
recsyslibdir = $(libdir)
recsyslib_DATA = librecsys.a
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = recsys.pc
noinst_DATA = librecsys.so.1
recsys_libs = $(OPENBLAS_LIBS) $(ZLIB_LIBS) $(PROTOBUF_C_LIBS) -lm -lpthread
CLEANFILES += librecsys.o librecsys.a librecsys.so.1 librecsys.so librecsys.o.names

OBJCOPY = objcopy
librecsys.o: librs.a $(srcdir)/src/lib/librecsys.map
	$(AM_V_CCLD)$(CC) -r -nostdlib -o $@ -Wl,-u,recsys_open -Wl,-u,recsys_scorer_open \
		librs.a
	$(AM_V_at)sed -n 's/^\t\t\(recsys_[a-z_]*\);$$/\1/p' $(srcdir)/src/lib/librecsys.map >$@.names
	$(AM_V_at)$(OBJCOPY) --keep-global-symbols=$@.names $@ && rm -f $@.names
librecsys.a: librecsys.o
	$(AM_V_AR)rm -f $@ && $(AR) $(ARFLAGS) $@ librecsys.o && $(RANLIB) $@
librecsys.so.1: librecsys.o $(srcdir)/src/lib/librecsys.map
	$(AM_V_CCLD)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$@ \
		-Wl,--version-script,$(srcdir)/src/lib/librecsys.map -Wl,--as-needed \
		-o $@ librecsys.o $(recsys_libs)
	$(AM_V_at)ln -sf $@ librecsys.so

install-exec-hook:
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) librecsys.so.1 '$(DESTDIR)$(libdir)/librecsys.so.1.0.0'
	cd '$(DESTDIR)$(libdir)' && ln -sf librecsys.so.1.0.0 librecsys.so.1 && \
		ln -sf librecsys.so.1 librecsys.so
uninstall-hook:
	cd '$(DESTDIR)$(libdir)' && rm -f librecsys.so librecsys.so.1 librecsys.so.1.0.0
