librs_a_SOURCES += src/graph/graph.h 
