#!/bin/sh
# The table of faults: every test it names exists and runs, and every row of the list has one.
set -u
table=$SRCDIR/tests/cases/faults.txt
rows='B001 B002 B004 B007 B009 B010 B012 B013 B016 B017 B019 B021 B023 B026 B028 B030 B032
	B033 B036 B038 B040 B043 B044 B046 B049 B051 B052 B054 B057 B058 B060 B063 B065 B066
	B069 B071 B073 B076 B078 B080 B081 B083 B085 B087 B090 B092 B094 B095 B097 B100 B103
	B104 B106 B107 B109 B112 B114 L001 L002 L004 L005 L007 L008 L009 L010 L012 L013 L014
	L015 L017 L019 L020 L021 L023 L024 L026 L028 L029 L030 L032 L033 L035 L036 L037 L039
	L040 L042 L043 L044 L045 L046 L048 L049 L050 L052 L053 L054 L056 L057 L058 L060 L061
	L062 L064 L065 L067 L068 L069 L071 L072 L073 L075 L077'
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
