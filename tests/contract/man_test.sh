#!/bin/sh
# The manual: generated parts are those of the program, lint is clean, every page
# referred to exists, every command has a page, recsys-train(1) leads to all of them,
# and its examples run.
set -eu
command -v mandoc > /dev/null || { echo "mandoc is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }

mkdir "$work/man"
cp "$SRCDIR"/man/*.[157] "$work/man"
chmod u+w "$work"/man/*
sh "$SRCDIR/man/generate" "$RECSYS_TRAIN" "$work/man" || fail "man/generate"
for page in "$work"/man/*; do
	cmp -s "$page" "$SRCDIR/man/${page##*/}" \
		|| fail "man/${page##*/} is stale: run man/generate build/recsys-train"
done

# Pages of ours are looked up below; mandoc would want them installed.
mandoc -T lint "$SRCDIR"/man/*.[1357] | grep -v 'referenced manual not found' > "$work/lint" || true
[ ! -s "$work/lint" ] || { cat "$work/lint"; fail "mandoc -T lint"; }

sed -n 's/^\.Xr \(recsys-train[^ ]*\) \([157]\).*/\1.\2/p' "$SRCDIR"/man/*.[157] | sort -u |
while read -r page; do
	[ -f "$SRCDIR/man/$page" ] || echo "$page"
done > "$work/missing"
[ ! -s "$work/missing" ] || fail "pages referred to that are missing: $(tr '\n' ' ' < "$work/missing")"

"$RECSYS_TRAIN" help --mdoc-commands | sed -n 's/^\.It Cm //p' > "$work/commands"
[ -s "$work/commands" ] || fail "no commands listed"
while read -r command; do
	[ -f "$SRCDIR/man/recsys-train-$command.1" ] || fail "no page for the command $command"
done < "$work/commands"

# recsys-train(1) leads to every page.
sed -n '/^\.Sh SEE ALSO/,$s/^\.Xr \(recsys-train[^ ]*\) \([157]\).*/\1.\2/p' \
	"$SRCDIR/man/recsys-train.1" | sort > "$work/seen"
for page in "$SRCDIR"/man/*.[157]; do
	[ "${page##*/}" = recsys-train.1 ] || echo "${page##*/}"
done | sort > "$work/pages"
diff "$work/pages" "$work/seen" || fail "SEE ALSO of recsys-train(1) is not the list of pages"

# recsys-train-cron(7) says of every exit code what to do, and pages of what trains name those
# with which training ends.
exit_status() { awk '/^\.Sh/ { on = /EXIT STATUS/ } on' "$SRCDIR/man/$1"; }
"$RECSYS_TRAIN" help --mdoc-exit | sed -n 's/^\.It //p' | sort > "$work/codes"
[ "$(wc -l < "$work/codes")" -ge 10 ] || fail "no exit codes listed"
exit_status recsys-train-cron.7 | sed -n 's/^\.It //p' | tr -s ' ,' '\n\n' | sort > "$work/told"
diff "$work/codes" "$work/told" || fail "EXIT STATUS of recsys-train-cron(7) is not all codes"
for page in recsys-train-train.1 recsys-train-cluster.7; do
	for code in 4 5 75; do
		exit_status $page | grep -qw "$code when" || fail "$page: no exit code $code"
	done
done
exit_status recsys-train-bench.1 | grep -qw '5 when' || fail "bench: no exit code 5"

# The literal blocks of EXAMPLES.
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$SRCDIR/man/recsys-train.1" | grep '^recsys-train ' > "$work/example.sh"
[ "$(wc -l < "$work/example.sh")" -ge 8 ] || fail "recsys-train(1) has no examples"
mkdir "$work/bin" "$work/run"
ln -s "$RECSYS_TRAIN" "$work/bin/recsys-train"
(cd "$work/run" && PATH=$work/bin:$PATH sh -eu ../example.sh > ../example.out 2>&1) \
	|| { tail -5 "$work/example.out"; fail "the examples of recsys-train(1)"; }
[ "$(wc -l < "$work/run/predictions.txt")" -eq 1000 ] || fail "the examples predict 1000 rows"

# So are the specs in the examples of recsys-train.ini(5); blocks of a few keys are not.
awk -v to="$work/spec" '
	/^\.Sh/ { examples = /EXAMPLES/ }
	examples && /^\.Bd/ { block = 1; n++; next }
	/^\.Ed/ { block = 0 }
	block { print >(to n ".ini") }' "$SRCDIR/man/recsys-train.ini.5"
for spec in "$work"/spec*.ini; do
	grep -q '^\[model\]' "$spec" || continue
	"$RECSYS_TRAIN" check "$spec" --strict > "$work/check" 2>&1 || {
		cat "$spec" "$work/check"
		fail "a spec in recsys-train.ini(5)"
	}
done
exit $failed
