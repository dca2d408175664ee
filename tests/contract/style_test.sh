#!/bin/sh
# What the code may not contain, and how long its lines, functions and files are.
# Kernels may be longer than 60 lines, rows of macro tables wider than 100 columns.
set -u
cd "$SRCDIR" || exit 99
LC_ALL=C
export LC_ALL

find src models tests \( -name '*.[ch]' -o -name '*.cu' \) ! -name '*.pb-c.[ch]' | sort | xargs awk '
	function complain(text) {
		printf "%s:%d: %s\n", FILENAME, FNR, text
		bad++
	}
	function width(line,    i, n, columns, c) {
		gsub(/[\200-\277]/, "", line)
		if (line !~ /\t/)
			return length(line)
		n = length(line)
		columns = 0
		for (i = 1; i <= n; i++) {
			c = substr(line, i, 1)
			columns = c == "\t" ? columns + 8 - columns % 8 : columns + 1
		}
		return columns
	}
	# The line without strings, character constants and comments.
	function code_of(line,    out, at) {
		gsub(/\\./, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
		out = ""
		while (line != "") {
			if (in_comment) {
				at = index(line, "*/")
				if (at == 0)
					return out
				line = substr(line, at + 2)
				in_comment = 0
			} else {
				at = index(line, "/*")
				if (at == 0)
					return out line
				out = out substr(line, 1, at - 1)
				line = substr(line, at + 2)
				in_comment = 1
			}
		}
		return out
	}
	function calls(code, names) {
		return code ~ ("(^|[^a-zA-Z0-9_.>])(" names ")[ ]*\\(")
	}
	FNR == 1 {
		in_comment = 0
		start = 0
		files++
	}
	width($0) > 100 && !/\\$/ { complain("more than 100 columns") }
	/[ \t]$/ { complain("blank at the end of the line") }
	FNR == 601 { complain("a file of more than 600 lines") }
	{
		code = code_of($0)
		if (calls(code, "strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof|strtok|strtok_r"))
			complain("a forbidden call: " code)
		if (FILENAME !~ /^tests\// && FILENAME != "src/cmd/main.c" && calls(code, "exit|abort"))
			complain("only main may end the program: " code)
		if (FILENAME !~ /^tests\// && FILENAME !~ /^src\/cmd\// && calls(code, "getenv"))
			complain("only cmd reads the environment: " code)
		if (code ~ /^[ \t]*#[ \t]*if[ \t]+0/)
			complain("code that is switched off")
		if (code ~ /^typedef[ \t]+(struct|enum|union)/ && code !~ /\(/)
			complain("a typedef of a tag")
	}
	/^\{/ { start = FNR }
	/^\}/ && start > 0 {
		if (FNR - start - 1 > 60 && FILENAME !~ /^src\/kernel\//)
			complain("a function of " (FNR - start - 1) " lines")
		start = 0
	}
	END {
		if (files < 10) {
			printf "only %d files found\n", files
			bad++
		}
		exit bad > 0
	}'
code=$?

# In pieces, so that this file does not find itself.
unfinished="TO""DO|FIX""ME|st""ub|place""holder|for"" now|not"" implemented|not"" yet implemented"
if grep -rnIwEi "$unfinished" src models tests README NEWS quickstart run-tests share man configs \
	Makefile.am configure.ac m4/rs.m4; then
	echo "words of unfinished work"
	code=1
fi
if grep -rnE '(^|[^A-Za-z0-9_-])XX''X([^X]|$)' src models tests; then
	code=1
fi
# A test or a file of a test has one line that names it; a merge may bring a second.
twice=$(sed -e :a -e '/\\$/N; s/\\\n//; ta' tests/*/tests.mk |
	sed -n 's/^\(dist_check_SCRIPTS\|check_PROGRAMS\|EXTRA_DIST\) += *//p' |
	tr -s ' \t' '\n' | sort | uniq -d)
if [ -n "$twice" ]; then
	echo "listed twice in tests.mk:" $twice
	code=1
fi
exit $code
