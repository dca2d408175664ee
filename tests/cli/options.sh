#!/bin/sh
# The command line: global options, how words are read, exit codes, environment.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
unset RECSYS_TRAIN_SPEC RECSYS_TRAIN_DB NO_COLOR
make_rows 200 1 >train.tsv
make_spec s.ini

# Every global option stands before the command and after it, as one word or two.
while read -r option value; do
	name=$option
	[ -z "$value" ] || name=$option=$value
	# shellcheck disable=SC2086
	expect 0 "$T" $option $value check s.ini
	# shellcheck disable=SC2086
	expect 0 "$T" check s.ini $option $value
	expect 0 "$T" "$name" check s.ini
	expect 0 "$T" check "$name" s.ini
done <<END
--help
--version
--set train.epochs=2
--layer s.ini
--directory $TMP
--db x.db
--quiet
--verbose
--log-file log.txt
--log-format json
--progress 2.0
--progress-fd 2
--json
--color never
--threads 2
--lock-wait 5s
--dry-run
END
"$T" --help | sed -n 's/^  [ -]..[ ,] *\(--[a-z-]*\).*/\1/p' | sort >have
sed -n '/^done <<END/,/^END/s/^\(--[a-z-]*\).*/\1/p' "$SRCDIR/tests/cli/options.sh" | sort >tested
same have tested 'global options that are not in this test, or no longer there'

# Letters, alone, with their value, in clusters.
expect 0 "$T" check -o train.epochs=7 --show-origin s.ini
prints '7'
grep -q '^command line  *train\.epochs  *= 7$' out || exit 1
expect 0 "$T" -otrain.epochs=7 check --show-origin s.ini
grep -q '= 7$' out || exit 1
expect 0 "$T" -qnotrain.epochs=8 check --show-origin s.ini
grep -q '^command line  *train\.epochs  *= 8$' out || exit 1
expect 0 "$T" -vvj2 check s.ini
expect 64 "$T" -vjx check s.ini
says "error: --threads 'x': a whole number from 0 to 4096 is wanted"
expect 64 "$T" -vX check s.ini
says "error: unknown option '-X'"
# The last of an option that is not repeatable counts; -o adds.
expect 0 "$T" check -j 1 -j 3 -o train.epochs=2 -o train.seed=9 -o train.epochs=4 --show-origin s.ini
grep -q '^command line  *train\.threads  *= 3$' out || exit 1
grep -q '^command line  *train\.epochs  *= 4$' out || exit 1
grep -q '^command line  *train\.seed  *= 9$' out || exit 1

# "--" ends options; a file may begin with a dash.
cp s.ini ./--json
expect 0 "$T" check -- --json
prints '--json: OK'
expect 66 "$T" check -- --help
says "'--help'"

# What is wrong is named, and what is near.
expect 64 "$T"
says 'error: a command is needed'
[ ! -s out ] || exit 1
expect 64 "$T" trian
says "error: there is no command 'trian'"
says "hint: did you mean 'train'?"
expect 64 "$T" "$(printf 'a\001')"
says "there is no command 'a\\x01'"
expect 64 "$T" check --strct
says "hint: did you mean '--strict'?"
expect 64 "$T" --verbos check
says "hint: did you mean '--verbose'?"
expect 64 "$T" check --stric
says "unknown option '--stric'"
expect 64 "$T" check --qqqqqqq
says "'recsys-train check --help' lists the options"
expect 64 "$T" check s.ini --json=1
says "option '--json' takes no value"
expect 64 "$T" check s.ini --set
says "option '--set' needs a value, SECTION.KEY=VALUE"
expect 64 "$T" check s.ini --color maybe
says "--color 'maybe': one of auto|never|always is wanted"
expect 64 "$T" check s.ini --log-format xml
expect 64 "$T" check s.ini --lock-wait soon
expect 64 "$T" check s.ini --progress-fd 0
expect 64 "$T" check s.ini t.ini
says "'t.ini' is one too many"
expect 64 "$T" check s.ini --data 5
says 'hint: the number belongs to the option: --data=5'

# -C goes there first; a relative spec, its data and the log file are seen from there.
mkdir sub
mv s.ini train.tsv sub
expect 66 "$T" check s.ini
expect 0 "$T" -C sub check s.ini --data --log-file here.log
[ -f sub/here.log ] || exit 1
expect 66 "$T" -C nowhere check s.ini
says "cannot enter 'nowhere'"
expect 64 "$T" -C sub/.. check

# The spec: positional, else RECSYS_TRAIN_SPEC, else ./recsys.ini, else none.
says 'RECSYS_TRAIN_SPEC names one as well'
RECSYS_TRAIN_SPEC=sub/s.ini expect 0 "$T" check
prints 'sub/s.ini: OK'
cp sub/s.ini recsys.ini
expect 0 "$T" check
prints 'recsys.ini: OK'
RECSYS_TRAIN_SPEC=sub/s.ini expect 0 "$T" check
prints 'sub/s.ini: OK'
RECSYS_TRAIN_SPEC='' expect 0 "$T" check
prints 'recsys.ini: OK'
RECSYS_TRAIN_SPEC=sub/s.ini expect 66 "$T" check none.ini
RECSYS_TRAIN_DB=$TMP/env.db expect 0 "$T" runs path
prints "$TMP/env.db"
RECSYS_TRAIN_DB=$TMP/env.db expect 0 "$T" runs path --db "$TMP/option.db"
prints "$TMP/option.db"

# Messages: none without need, all of them in the log file, errors in spite of -q.
cd sub || exit 1
expect 0 "$T" check s.ini -v
[ ! -s err ] || exit 1
expect 78 "$T" check s.ini -q -o train.epoch=2 --log-file text.log
says 'command line: error: [train] epoch: unknown key'
says "hint: did you mean 'epochs'?"
same err text.log 'the log file is not what was printed'
expect 78 "$T" check s.ini -o train.epoch=2 --log-file json.log --log-format json
grep -q '^{"message_type":"log","time":"....-..-..T..:..:..Z","level":"error","text":".*epoch: unknown key","file":"command line"}$' json.log || { cat json.log; exit 1; }
expect 73 "$T" check s.ini --log-file none/log
says "cannot open the log file 'none/log'"
# Off a terminal a good run is silent, -v tells its course, and -P has the rows of the table.
expect 0 "$T" train s.ini -f m
[ ! -s err ] || { cat err; exit 1; }
for more in '-v' '-P 2.0'; do
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini --fresh -f m $more
	for line in 'recsys-train .*  run r0.*  seed 1' 'epoch 1/1   200 rows, 0 skipped   loss ' \
		'saved       m/v00000[1-9]   ' 'run r0.*   ok in '; do
		grep -q "^$line" err || { echo "$more does not tell '$line'"; cat err; exit 1; }
	done
	grep -q '^ average     since' err && rows=yes || rows=no
	[ "$more $rows" = '-v no' ] || [ "$more $rows" = '-P 2.0 yes' ] || { cat err; exit 1; }
done
for less in '-v -q' '-v -P none'; do
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini --fresh -f m $less
	[ ! -s err ] || { cat err; exit 1; }
done
expect 0 "$T" train s.ini -f m2 -q -P none
[ ! -s err ] || exit 1

# --json: a fatal error is one exit_error line at the end of stderr, whatever failed.
expect 64 "$T" check --json --wrong
tail -n 1 err | grep -q '^{"message_type":"exit_error","code":64,"status":"EUSAGE","where":null,"message":"unknown option .--wrong.","hint":".*"}$' || { cat err; exit 1; }
expect 66 "$T" --json check none.ini
tail -n 1 err | grep -q '^{"message_type":"exit_error","code":66,' || { cat err; exit 1; }
expect 78 "$T" check --json s.ini -o train.epochs=x
tail -n 1 err | grep -q '^{"message_type":"exit_error","code":78,"status":"ESPEC","where":"s.ini",' || { cat err; exit 1; }
[ "$(grep -c exit_error err)" = 1 ] || exit 1

# Colour: only when asked for, here; NO_COLOR is for auto.
esc=$(printf '\033')
expect 0 "$T" --help
! grep -q "$esc" out || exit 1
expect 0 "$T" --help --color always
grep -q "$esc" out || exit 1
NO_COLOR=1 expect 0 "$T" --help --color always
grep -q "$esc" out || exit 1

# --version is one line; with git's short commit, or that it is a release.
expect 0 "$T" --version
[ "$(wc -l <out)" = 1 ] || exit 1
grep -Eq '^recsys-train [0-9.]+ \(([0-9a-f]{7,40}|release)\)  features: .*sqlite 3\.' out || { cat out; exit 1; }

# A closed pipe ends quietly with 128+13; a full disk does not.
closed() {
	{ status=0; "$T" "$@" 2>pipe.err || status=$?; echo $status >pipe.code; } | :
	sleep 0.1
	cat pipe.code
}
i=0
while [ $i -lt 20 ] && [ "$(closed help --spec)" != 141 ]; do i=$((i + 1)); done
[ $i -lt 20 ] || { echo 'a closed pipe never ended the program with 141'; exit 1; }
[ ! -s pipe.err ] || { cat pipe.err; exit 1; }
if [ -w /dev/full ]; then
	status=0
	"$T" help --spec >/dev/full 2>err || status=$?
	[ $status = 74 ] || { echo "full disk: exit $status"; exit 1; }
	says 'cannot write to standard output'
fi
# Standard files that are closed stay so: what is opened next does not take their place.
status=0
"$T" help --spec >&- 2>err || status=$?
[ $status = 74 ] || { echo "no standard output: exit $status"; exit 1; }
says 'cannot write to standard output'

# The set of kernels is what the environment says, or the words say what there is.
expect 0 env RECSYS_TRAIN_KERNELS=ref "$T" check s.ini
expect 64 env RECSYS_TRAIN_KERNELS=mmx "$T" check s.ini
says "unknown kernel set 'mmx'"
says 'known: auto ref avx512 avx2 baseline'
exit 0
