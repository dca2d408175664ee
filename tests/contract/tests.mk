# tests of contract
