#!/bin/sh
# usage: commit.sh SOURCE HEADER
# Writes HEADER when the commit of the checkout SOURCE is another than it says.
set -eu
commit=release
if [ "$(git -C "$1" rev-parse --show-cdup 2>/dev/null || echo none)" = "" ]; then
	commit=$(git -C "$1" rev-parse --short HEAD 2>/dev/null) || commit=release
fi
line="#define COMMIT \"$commit\""
[ -f "$2" ] && [ "$(cat "$2")" = "$line" ] && exit 0
printf '%s\n' "$line" >"$2"
