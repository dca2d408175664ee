# tests of embed
