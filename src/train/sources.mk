librs_a_SOURCES += src/train/checkpoint.h src/train/metric.h src/train/model.h src/train/step.h src/train/train.h 
