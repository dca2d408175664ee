librs_a_SOURCES += src/reduce/reducer.h src/reduce/shm.c
librs_a_SOURCES += src/reduce/courier.c src/reduce/courier.h
librs_a_SOURCES += src/reduce/exchange.c src/reduce/exchange.h
librs_a_SOURCES += src/reduce/pushpull.c src/reduce/pushpull.h
librs_a_SOURCES += src/reduce/exchange_shm.c
librs_a_SOURCES += src/reduce/meeting.c src/reduce/meeting.h
librs_a_SOURCES += src/reduce/mpi.c src/reduce/mpi.h src/reduce/mpi_plugin.h
librs_a_SOURCES += src/reduce/mpi_exchange.c src/reduce/mpi_run.c src/reduce/mpi_private.h
librs_a_SOURCES += src/reduce/plane.c src/reduce/plane.h
librs_a_SOURCES += src/reduce/nccl.c src/reduce/nccl.h src/reduce/nccl_library.c
librs_a_SOURCES += src/reduce/gpu_sums.c src/reduce/gpu_sums.h
librs_a_SOURCES += src/reduce/nccl_exchange.c src/reduce/nccl_exchange.h
librs_a_SOURCES += src/reduce/nccl_mesh.c src/reduce/nccl_mesh.h src/reduce/nccl_private.h
AM_CPPFLAGS += $(NCCL_CFLAGS)

# The plug-in, once for each MPI library that was found; the program loads it when it is
# wanted and links with none.
AM_CPPFLAGS += -DRS_PKGLIBDIR='"$(pkglibdir)"'
plugindir = $(pkglibdir)
plugin_DATA = $(MPI_PLUGINS)
CLEANFILES += recsys-train-mpi-openmpi.so recsys-train-mpi-mpich.so
mpi_plugin_sources = src/reduce/mpi/plugin.c src/reduce/mpi_plugin.h
EXTRA_DIST += src/reduce/mpi/plugin.c
mpi_plugin_compile = $(CC) $(RS_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared \
	-I$(top_srcdir)/src
mpi_plugin_link = $(srcdir)/src/reduce/mpi/plugin.c $(LDFLAGS) -Wl,--as-needed

recsys-train-mpi-openmpi.so: $(mpi_plugin_sources)
	$(AM_V_CCLD)$(mpi_plugin_compile) -DPLUGIN_LIBRARY='"openmpi"' $(OPENMPI_CFLAGS) -o $@ \
		$(mpi_plugin_link) $(OPENMPI_LIBS)

recsys-train-mpi-mpich.so: $(mpi_plugin_sources)
	$(AM_V_CCLD)$(mpi_plugin_compile) -DPLUGIN_LIBRARY='"mpich"' $(MPICH_CFLAGS) -o $@ \
		$(mpi_plugin_link) $(MPICH_LIBS)
