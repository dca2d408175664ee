#!/bin/sh
# The table of faults: every test it names exists and runs, and every row of the
# list that concerns metrics, NaN, reproducibility, threads, saving, early stop,
# configuration, parsing, ids and runs has one.
set -u
table=$SRCDIR/tests/cases/faults.txt
rows='B001 B002 B004 B007 B009 B010 B012 B013 B019 B021 B023 B026 B028 B030 B032 B033 B040 B043
	B044 B049 B052 B054 B057 B058 B060 B063 B065 B066 B069 B071 B073 B076 B080 B081 B083 B085
	B087 B090 B092 B094 B097 B106 B107 B109 B112 B114'
failed=0
fail() { echo "FAIL: $*"; failed=1; }

sed 's/#.*//; /^$/d' "$table" >"${TMPDIR:-/tmp}/faults.$$"
trap 'rm -f "${TMPDIR:-/tmp}/faults.$$"' EXIT
while read -r row file name; do
	[ -f "$SRCDIR/$file" ] || { fail "$row: there is no $file"; continue; }
	grep -qF -- "$name" "$SRCDIR/$file" || fail "$row: $file has no test '$name'"
	case $file in
	*.c) [ "$(grep -cF -- "$name" "$SRCDIR/$file")" -ge 2 ] || fail "$row: '$name' is never run" ;;
	esac
	case $name in
	"$row"*) ;;
	*) fail "$row: '$name' is not named after it" ;;
	esac
	grep -qE "${file%.c}( |\$)" "$SRCDIR/${file%/*}/tests.mk" || fail "$row: $file is in no tests.mk"
done <"${TMPDIR:-/tmp}/faults.$$"
for row in $rows; do
	grep -q "^$row " "$table" || fail "$row has no test"
done
exit $failed
