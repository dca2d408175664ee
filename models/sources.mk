librs_a_SOURCES += models/models.h
