# tests of cases
dist_check_SCRIPTS += tests/cases/faults_test.sh
dist_check_SCRIPTS += tests/cases/malformed.sh
EXTRA_DIST += tests/cases/faults.txt
