#!/bin/sh
# The completion for zsh is zsh.
set -eu
command -v zsh >/dev/null || { echo "zsh is not installed"; exit 77; }
file=$(mktemp)
trap 'rm -f "$file"' EXIT
"$RECSYS_TRAIN" completion zsh >"$file"
zsh -n "$file"
