librs_a_SOURCES += src/place/placement.h src/place/coordinator.h src/place/supervisor.h
librs_a_SOURCES += src/place/environment.c src/place/environment.h src/place/environment_private.h
librs_a_SOURCES += src/place/environment_tf.c src/place/environment_hosts.c
librs_a_SOURCES += src/place/placement.c src/place/placement_host.c src/place/placement_print.c
librs_a_SOURCES += src/place/placement_private.h src/place/placement_traffic.c
librs_a_SOURCES += src/place/private_directory.c src/place/private_directory.h
librs_a_SOURCES += src/place/supervisor.c src/place/supervisor_child.c src/place/supervisor_child.h
