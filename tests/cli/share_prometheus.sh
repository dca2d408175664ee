#!/bin/sh
# The alert rules of share/ as Prometheus reads them, and when they fire.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
command -v promtool >/dev/null || { echo 'promtool is missing'; exit 77; }
cp "$SRCDIR"/share/prometheus/*.yml . || exit 1
expect 0 promtool check rules recsys-train.rules.yml
expect 0 promtool test rules recsys-train.test.yml
