#!/bin/sh
# The crontab line of share/, run once by a real cron daemon.
REBOOT=1 exec sh "$SRCDIR/tests/bench/cron_daemon.sh"
