# Runs named cases: sourced, not run.  Every function whose name begins with a
# row of the list of faults (B012_...) runs in a shell and a directory of its own.
run_cases() {
	failed=0
	cases=$(sed -n 's/^\([BL][0-9][0-9]*_[a-z0-9_]*\)() {$/\1/p' "$1")
	for case in $cases; do
		mkdir "$TMP/$case"
		(cd "$TMP/$case" && "$case") || { echo "FAIL: $case"; failed=1; }
	done
	[ -n "$cases" ] || { echo "no cases in $1"; failed=1; }
	exit $failed
}
