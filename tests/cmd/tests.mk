# tests of cmd
