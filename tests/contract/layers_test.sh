#!/bin/sh
# Every #include "FOLDER/..." of src/ and models/ is allowed by src/LAYERS, and
# SQLite is seen by the run store only.
set -u
cd "$SRCDIR" || exit 99

find src models -name '*.[ch]' ! -name '*.pb-c.[ch]' | sort | xargs awk '
	BEGIN {
		while ((getline line < "src/LAYERS") > 0) {
			if (line ~ /^#/ || line !~ /:/)
				continue
			n = split(line, word, /[: ]+/)
			known[word[1]] = 1
			for (i = 1; i <= n; i++)
				if (word[i] != "")
					allowed[word[1], word[i]] = 1
		}
	}
	FNR == 1 {
		split(FILENAME, part, "/")
		own = part[1] == "src" ? part[2] : part[1]
		files++
		if (!(own in known)) {
			printf "%s: folder %s has no row in src/LAYERS\n", FILENAME, own
			bad++
		}
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, quoted, "\"")
		if (quoted[2] == "config.h" || (own, "*") in allowed)
			next
		n = split(quoted[2], part, "/")
		if (n < 2) {
			printf "%s:%d: \"%s\" is not written from the root\n", FILENAME, FNR, quoted[2]
			bad++
		} else if (!((own, part[1]) in allowed)) {
			printf "%s:%d: %s may not include %s\n", FILENAME, FNR, own, quoted[2]
			bad++
		}
	}
	/^[ \t]*#[ \t]*include[ \t]*<sqlite3.h>/ && own != "store" && own != "cmd" {
		printf "%s:%d: only store may include sqlite3.h\n", FILENAME, FNR
		bad++
	}
	END {
		if (files < 10) {
			printf "only %d files found\n", files
			bad++
		}
		exit bad > 0
	}'
