# Functions of the scripts that export: sourced, not run.
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# make_logs LAYOUT...: 1500 rows LAYOUT.tsv each, and a spec LAYOUT.ini of them.
make_logs() {
	for layout; do
		"$T" -q synth --rows 1500 --layout "$layout" --users 50 --items 20 -O "$layout.tsv" \
			--spec-out "$layout.ini" || fail "no rows of $layout"
	done
}

# flip FILE BYTE: its lowest bit but one.
flip() {
	byte=$(od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((byte ^ 2)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>dd.err
}

# reader MODULE...: sets $python to one that has them, else the test is skipped here.
# run-tests installs them from PyPI in build/venv.
reader() {
	for python in ${RECSYS_READERS:+"$RECSYS_READERS/bin/python"} "$BUILDDIR/venv/bin/python" \
		"$SRCDIR/build/venv/bin/python"; do
		[ -x "$python" ] && "$python" -c 'import importlib.util as u, sys
sys.exit(not all(map(u.find_spec, sys.argv[1:])))' "$@" && return
	done
	echo "not all of $* (PyPI) are installed; what came before passed"
	exit 77
}
