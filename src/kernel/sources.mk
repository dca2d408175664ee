librs_a_SOURCES += src/kernel/kernel.h src/kernel/kernel_table.h 
