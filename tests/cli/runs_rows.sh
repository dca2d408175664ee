#!/bin/sh
# The rows of a run as `runs show` tells them are those of all its epochs, trained and skipped.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
