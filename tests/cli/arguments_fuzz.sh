#!/bin/sh
# Words of the command line in random order: an answer with an exit code, never a
# crash or a hang.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 50 1 >train.tsv
make_spec s.ini
long=$(printf '%05000d' 7)

awk 'BEGIN {
	srand(11)
	n = split("init check completion help runs predict eval inspect list show path -h --help " \
		"--version -o --set --set= train.epochs=2 train.epochs= =x .= field field.x=1 " \
		"--layer s.ini --layer=s.ini -C . -C/ --db x.db -q -v -vvv -qv -j -j1 -j99999 -P -P2.0 " \
		"-Pkv --progress=none --progress-fd=7 --json --color never --color=x --lock-wait 0 -n " \
		"-- - --- -- --data --data=3 --data=all --data=0 --strict --show-origin --from " \
		"train.tsv s.ini none bash zsh LONG --LONG --spec --mdoc-keys --mdoc-options @ % \\ " \
		"--rows 9 --model fm --format csv --force --=1 -= -1 0", word, " ")
	for (i = 0; i < 150; i++) {
		line = ""
		for (k = int(rand() * 7); k >= 0; k--)
			line = line " " word[1 + int(rand() * n)]
		print line
	}
}' >lines
while read -r line; do
	set -f
	# shellcheck disable=SC2046
	set -- $(echo "$line" | sed "s/LONG/$long/g")
	set +f
	status=0
	timeout -k 9 10 "$T" "$@" </dev/null >out 2>err || status=$?
	case $status in
	0 | 1 | 64 | 65 | 66 | 73 | 78) ;;
	*) echo "exit $status: $line"; cat err; exit 1 ;;
	esac
	[ $status = 0 ] || [ -s err ] || { echo "exit $status without a word: $line"; exit 1; }
done <lines
exit 0
