librs_a_SOURCES += src/place/placement.h src/place/coordinator.h src/place/supervisor.h
librs_a_SOURCES += src/place/environment.h
librs_a_SOURCES += src/place/placement.c src/place/placement_host.c src/place/placement_print.c
librs_a_SOURCES += src/place/placement_private.h src/place/placement_traffic.c
