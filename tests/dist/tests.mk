# tests of runs of many processes
EXTRA_DIST += tests/dist/push.pml
dist_check_SCRIPTS += tests/dist/spin.sh
EXTRA_DIST += tests/dist/job_data.sh
dist_check_SCRIPTS += tests/dist/job.sh tests/dist/kill.sh tests/dist/models.sh
dist_check_SCRIPTS += tests/dist/ledger.sh tests/dist/cable.sh
dist_check_SCRIPTS += tests/dist/job.sh tests/dist/kill.sh
dist_check_SCRIPTS += tests/dist/job.sh tests/dist/kill.sh tests/dist/status.sh
dist_check_SCRIPTS += tests/dist/job.sh tests/dist/kill.sh tests/dist/models.sh tests/dist/consistency.sh
dist_check_SCRIPTS += tests/dist/job.sh tests/dist/kill.sh tests/dist/models.sh tests/dist/hosts.sh
