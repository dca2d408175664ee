# tests of graph
