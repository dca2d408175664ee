librs_a_SOURCES += src/train/checkpoint.c src/train/checkpoint.h
librs_a_SOURCES += src/train/checkpoint_lock.c
librs_a_SOURCES += src/train/dense_file.c src/train/dense_file.h
librs_a_SOURCES += src/train/manifest.c src/train/manifest.h
librs_a_SOURCES += src/train/metric.c src/train/metric.h
librs_a_SOURCES += src/train/model.h
librs_a_SOURCES += src/train/step.h
librs_a_SOURCES += src/train/train.h
