#!/bin/sh
# The completion for fish is fish.
set -eu
command -v fish >/dev/null || { echo "fish is not installed"; exit 77; }
file=$(mktemp)
trap 'rm -f "$file"' EXIT
"$RECSYS_TRAIN" completion fish >"$file"
fish -n "$file"
