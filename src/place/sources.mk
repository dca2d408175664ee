librs_a_SOURCES += src/place/placement.h src/place/coordinator.h src/place/supervisor.h
librs_a_SOURCES += src/place/environment.h
