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

# halves N: train.tsv as a.tsv, so many rows, and b.tsv, the others.
halves() {
	head -n "$1" train.tsv >a.tsv
	tail -n "+$(($1 + 1))" train.tsv >b.tsv
}

# spec_head MODEL: the sections before the fields.
spec_head() {
	cat <<-END
	[model]
	type = $1
	[data]
	train = train.tsv
	format = tsv
	label = 1
	END
}

# make_spec FILE: a small DeepFM over the rows of make_rows.
make_spec() {
	spec_head deepfm >"$1"
	cat >>"$1" <<-END
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

# make_past_rows N SEED: those of make_rows, some without a user; items of before, of which some
# are no item of any row.
make_past_rows() {
	make_rows "$1" "$2" | awk -F'\t' -v OFS='\t' '{
		if (NR % 17 == 0) $2 = ""
		print $0, $3 "|p" NR % 7 "|i" NR % 11 (NR % 5 ? "|" $3 : "")
	}'
}

# make_past_spec FILE: make_spec with the items of before, in one table with the item.
make_past_spec() {
	make_spec "$1"
	cat >>"$1" <<-END
	[field past]
	column = 5
	type = multi
	share = item
	END
}

# make_pairs N SEED: label 1, user, item; items by popularity, users like those of their parity.
make_pairs() {
	awk -v n="$1" -v s="$2" '
	function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		for (i = 0; i < n; i++) {
			a = int(u() * 40); b = int(u() ^ 2 * 60)
			if (a % 2 != b % 2 && u() < 0.9) b = (b + 1) % 60
			printf "1\tu%d\ti%d\n", a, b
		}
	}'
}

# make_pairs_spec FILE BUCKETS HIDDEN: two towers over the rows of make_pairs.
make_pairs_spec() {
	spec_head two_tower >"$1"
	cat >>"$1" <<-END
	header = no
	[model]
	loss = softmax
	[field user]
	column = 2
	buckets = 500
	[field item]
	column = 3
	buckets = $2
	[embedding]
	dim = 8
	learning_rate = 0.1
	init_stddev = 0.1
	[tower user]
	fields = user
	hidden = $3
	[tower item]
	fields = item
	hidden = $3
	[train]
	batch_size = 250
	END
}

# make_bags N SEED MOST ZIPF: label, bag of 8 ids below MOST, every ZIPFth one Zipf.
make_bags() {
	awk -v n="$1" -v s="$2" -v most="$3" -v zipf="$4" '
	function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		for (i = 0; i < n; i++) {
			line = (u() < 0.4) "\t"
			for (k = 0; k < 8; k++)
				line = line (k ? "|" : "") int(k % zipf ? u() * most : exp(u() * log(most)))
			print line
		}
	}'
}

# make_bags_spec FILE MODEL BUCKETS: over the rows of make_bags.
make_bags_spec() {
	spec_head "$2" >"$1"
	cat >>"$1" <<-END
	[field bag]
	column = 2
	type = multi
	buckets = $3
	[embedding]
	dim = 16
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

# library_scores MODEL ROWS WANT: librecsys gives the scores in WANT.  77: it was not asked, as a
# sanitizer would have to be loaded before it.
library_scores() {
	if nm "$BUILDDIR/librecsys.so" | grep -q '__asan_init\|__tsan_init'; then
		echo 'librecsys has a sanitizer'
		return 77
	fi
	python3 "$SRCDIR/tests/lib/recsys_score.py" "$BUILDDIR/librecsys.so" "$@" || exit 1
}

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
