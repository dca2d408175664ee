# tests of reduce
