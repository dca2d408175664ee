check_PROGRAMS += tests/models/models_test
