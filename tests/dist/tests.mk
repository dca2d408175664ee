# tests of runs of many processes
EXTRA_DIST += tests/dist/push.pml
dist_check_SCRIPTS += tests/dist/spin.sh
