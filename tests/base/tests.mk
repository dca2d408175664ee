# tests of base
