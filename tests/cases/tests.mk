# tests of cases
