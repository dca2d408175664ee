# Functions of the train scripts: sourced, not run.
# make_rows N SEED: label, user, item, number; the label follows user and item.
make_rows() {
	awk -v n="$1" -v s="$2" '
	function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		for (i = 0; i < n; i++) {
			a = int(u() * u() * 50); b = int(u() * u() * 40); x = u()
			z = sin(a * 12.9) * 2 + sin(b * 78.2) * 2 + x - 0.5
			printf "%d\tu%d\ti%d\t%.3f\n", (u() < 1 / (1 + exp(-z))), a, b, x
		}
	}'
}

# make_spec FILE: a small DeepFM over the rows of make_rows.
make_spec() {
	cat >"$1" <<-END
	[model]
	type = deepfm
	[data]
	train = train.tsv
	format = tsv
	label = 1
	[field user]
	column = 2
	buckets = 200
	[field item]
	column = 3
	buckets = 200
	[field x]
	column = 4
	type = numeric
	[embedding]
	dim = 4
	learning_rate = 0.1
	[dnn]
	hidden = 16,8
	[train]
	batch_size = 100
	learning_rate = 0.01
	END
}

fail() { echo "${0##*/}: $1" >&2; exit 1; }

# expect CODE COMMAND...: runs it, output in out, errors in err.  The program has 300 s.
expect() {
	want=$1
	shift
	[ "$1" != "$RECSYS_TRAIN" ] || set -- timeout --foreground -k 9 300 "$@"
	got=0
	"$@" >out 2>err || got=$?
	[ "$got" = "$want" ] && return 0
	echo "wanted exit $want, got $got: $*" >&2
	cat out err >&2
	exit 1
}

# ends PID [SECONDS]: this child ends within so many, 120 by default; code is its status.
ends() {
	ends_tries=0
	while kill -0 "$1" 2>/dev/null; do
		ends_tries=$((ends_tries + 1))
		if [ $ends_tries -gt $((${2:-120} * 20)) ]; then
			echo "not ended in ${2:-120} s:" >&2
			ps -o pid,ppid,stat,etime,time,wchan:20,args -p "$1" --ppid "$1" >&2
			kill -9 "$1"
			exit 1
		fi
		sleep 0.05
	done
	code=0
	wait "$1" 2>/dev/null || code=$?
}

# says TEXT: the errors of the last expect hold it.
says() {
	grep -qF -- "$1" err && return 0
	echo "no '$1' in:" >&2
	cat err >&2
	exit 1
}

# prints TEXT: so does the output.
prints() {
	grep -qF -- "$1" out && return 0
	echo "no '$1' in:" >&2
	cat out >&2
	exit 1
}

dump() {
	"$RECSYS_TRAIN" inspect "$1" --dump text
}

same() {
	cmp "$1" "$2" || { echo "$3" >&2; exit 1; }
}

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
