# tests of spec
