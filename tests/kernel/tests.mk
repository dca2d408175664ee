# tests of kernel
