#!/bin/sh
# FILE.c exports only FILE_... (or FILE itself); A_B.c, a part of the subject of A,
# may export A_... too.  tests/contract/symbols lists the prefixes that some files
# have besides.
set -u
objects=$(find "$BUILDDIR/src" "$BUILDDIR/models" -name '*.o' 2>/dev/null | sort)
[ -n "$objects" ] || { echo "no objects in $BUILDDIR"; exit 1; }

# shellcheck disable=SC2086
nm -gA --defined-only $objects 2>/dev/null | awk -v list="$SRCDIR/tests/contract/symbols" \
	-v top="$BUILDDIR/" '
	BEGIN {
		while ((getline line < list) > 0) {
			if (line ~ /^#/ || line == "")
				continue
			n = split(line, word, /[: ]+/)
			for (i = 2; i <= n; i++)
				if (word[i] != "")
					extra[word[1]] = extra[word[1]] " " word[i]
		}
	}
	function fits(symbol, prefix,    suffix) {
		if (prefix ~ /^\*/) {
			suffix = substr(prefix, 2)
			return substr(symbol, length(symbol) - length(suffix) + 1) == suffix
		}
		return symbol == prefix || index(symbol, prefix "_") == 1
	}
	{
		n = split($1, piece, ":")
		path = substr(piece[1], length(top) + 1)
		symbol = $NF
		folder = path
		sub(/\/[^\/]*$/, "", folder)
		name = path
		sub(/.*\//, "", name)
		sub(/(\.pb-c)?\.o$/, "", name)
		sub(/^.*-/, "", name)
		seen++
		if (symbol ~ /^(__|_\.|\.)/ || symbol ~ /\.(cold|part|isra)/ || fits(symbol, name))
			next
		for (stem = name; sub(/_[^_]*$/, "", stem); )
			if (fits(symbol, stem))
				next
		n = split(extra[folder "/" name ".c"] " " extra[folder "/*"], prefix, " ")
		for (i = 1; i <= n; i++)
			if (fits(symbol, prefix[i]))
				next
		printf "%s/%s.c exports %s\n", folder, name, symbol
		bad++
	}
	END {
		if (seen < 20) {
			printf "only %d symbols found\n", seen
			bad++
		}
		exit bad > 0
	}'
