# tests of runs of many processes
EXTRA_DIST += tests/dist/push.pml tests/dist/job_data.sh
dist_check_SCRIPTS += tests/dist/cable.sh
dist_check_SCRIPTS += tests/dist/consistency.sh
dist_check_SCRIPTS += tests/dist/hosts.sh
dist_check_SCRIPTS += tests/dist/job.sh
dist_check_SCRIPTS += tests/dist/kill.sh
dist_check_SCRIPTS += tests/dist/ledger.sh
dist_check_SCRIPTS += tests/dist/models.sh
dist_check_SCRIPTS += tests/dist/spin.sh
dist_check_SCRIPTS += tests/dist/status.sh
