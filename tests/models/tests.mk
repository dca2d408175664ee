# tests of models
