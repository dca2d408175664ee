#!/bin/sh
# runs plot: a run's course in characters, and through gnuplot.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_rows 200 2 >valid.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 4
expect 0 "$T" train s.ini -f m --fresh --valid valid.tsv --epochs 3 -o train.learning_rate=0.1

expect 0 "$T" runs plot 1
prints 'valid.auc'
prints '* r0001'
prints 'rows'
expect 0 "$T" runs plot 1 2 --metric logloss --x epoch
prints 'valid.logloss'
prints '* r0001   o r0002'
expect 0 "$T" runs plot last --metric train.loss --x time
prints 'since the start'
[ "$(awk 'length($0) > 80' out)" = '' ] || exit 1
expect 0 "$T" runs plot --model m --x epoch
prints '* r0001   o r0002'
expect 64 "$T" runs plot last --x period
says "no run named with a 'valid.auc' is of a period"

# No gnuplot: a message, no file.
mkdir empty
expect 71 env PATH=empty "$T" runs plot 1 -O x.svg
says 'gnuplot, which draws .svg and .png files, is not installed'
says 'leave -O out'
[ ! -e x.svg ] || exit 1

# It is told what to draw on its standard input, by no shell, and what it draws replaces
# the file when it went well.
mkdir bin
cat >bin/gnuplot <<'END'
#!/bin/sh
echo "$*" >arguments
/bin/cat >told
[ ! -e fails ] || { echo 'line 1: unknown terminal' >&2; exit 1; }
echo "<svg/>"
END
chmod +x bin/gnuplot
expect 0 env PATH=bin "$T" runs plot 1 --x epoch -O 'it|s $(touch bad).svg'
[ "$(cat 'it|s $(touch bad).svg')" = '<svg/>' ] && [ ! -e bad ] || exit 1
grep -q '^-d -$' arguments || { cat arguments; exit 1; }
grep -q '^set terminal svg' told && grep -q '^4 0' told && grep -q "title 'r0001'" told ||
	{ cat told >&2; exit 1; }
[ ! -s out ] && [ ! -s err ] || { cat out err >&2; exit 1; }
touch fails
expect 71 env PATH=bin "$T" runs plot 2 -O 'it|s $(touch bad).svg'
says 'gnuplot failed: line 1: unknown terminal'
[ "$(cat 'it|s $(touch bad).svg')" = '<svg/>' ] || exit 1
rm fails
expect 73 env PATH=bin "$T" runs plot 2 -O none/x.svg

# The real one, where there is one.
if gnuplot --version >/dev/null 2>&1; then
	expect 0 "$T" runs plot 1 2 --x epoch -O real.svg
	grep -q '<svg' real.svg && grep -q 'r0002' real.svg || exit 1
	expect 0 "$T" runs plot 1 -O real.png
	[ "$(dd if=real.png bs=1 skip=1 count=3 2>/dev/null)" = PNG ] || exit 1
fi
exit 0
