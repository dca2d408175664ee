#!/bin/sh
# Ordinary mistakes of who has one log: each message says what was found, what was wanted, where,
# and what to do; the exit code is that of recsys-train-exit(7).
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >log.tsv
expect 0 "$T" init --from log.tsv -O s.ini
mkdir sub
cp s.ini sub/s.ini

# says TEXT: a line of standard error is this.
says() {
	grep -qxF "recsys-train: $1" err || { echo "not said: $1" >&2; cat err >&2; exit 1; }
}

# Commands and files in one another's places.
expect 64 "$T" evaluate m log.tsv
says "hint: did you mean 'eval'?"
expect 64 "$T" pred m log.tsv
says "hint: did you mean 'predict'?"
spec="hint: a spec is a file of 'key = value' lines; 'recsys-train init --from DATA -O NAME.ini' writes one"
for what in sub none.ini; do
	expect 66 "$T" train $what -f m
	says "$spec"
done
says "error: cannot open 'none.ini': No such file or directory"
expect 78 "$T" train log.tsv -f m
says 'log.tsv: error: 304 errors in the spec'
says "hint: the first 20 are told, by 'recsys-train check' all; is it a spec, or the data?"
[ "$(grep -c ': error: ' err)" = 21 ] || { wc -l err >&2; exit 1; }
expect 78 "$T" check log.tsv
[ "$(grep -c ': error: ' err)" = 305 ] || { wc -l err >&2; exit 1; }
expect 66 "$T" eval s.ini log.tsv
says "error: there is no model directory 's.ini'"
says "hint: this is a file; 'recsys-train train SPEC -f DIR' makes one"
for command in eval predict; do
	expect 66 "$T" $command none log.tsv
	says "hint: 'recsys-train train SPEC -f DIR' makes one"
done

# Keys.
expect 78 "$T" train s.ini -f m -o train.batch=5
says "hint: did you mean 'batch_size'?"
sed 's/^label *=.*/lable = 1/' s.ini >typo.ini
expect 78 "$T" check typo.ini
grep -q '^recsys-train: typo.ini:[0-9]*:1: error: \[data\] lable: unknown key$' err || exit 1
says 'typo.ini: error: [data] label: the column of the label is needed'

# Data.
expect 66 "$T" train sub/s.ini -f m
says "error: no such file: 'sub/log.tsv'"
says 'hint: a relative path in a spec begins at the folder of the spec, one on the command line where the command began'
expect 66 "$T" train s.ini -f m -d /none/log.tsv
[ "$(wc -l <err)" = 1 ] || { cat err >&2; exit 1; }
awk 'BEGIN { FS = OFS = "\t" } NR == 200 { NF = 2 } 1' log.tsv >short.tsv
expect 65 "$T" train s.ini -f m -d short.tsv
says 'short.tsv:200:1: error: 2 columns found, 4 wanted'
says 'hint: the first row has 4; data.on_bad_row = skip trains without such rows'
packed() {
	for command in 'train s.ini -f m -d packed' 'init --from packed'; do
		expect 65 "$T" $command
		says "error: 'packed' is packed by $1, wanted text or gzip"
		says "hint: unpack it, or pipe it in: $2 FILE | recsys-train ... with - for the data"
	done
}
printf '\050\265\057\375\004\000\101\000\000\001\002' >packed; packed zstd 'zstd -dc'
printf 'BZh91AY&SY\200\201\202\203' >packed; packed bzip2 'bzip2 -dc'
printf '\3757zXZ\000\000\004\001\002\003\004' >packed; packed xz 'xz -dc'
printf 'PK\003\004\024\000\000\000\010\000\001\002' >packed; packed zip 'unzip -p'
gzip -c log.tsv >log.gz
size=$(wc -c <log.gz)
{ head -c $((size - 8)) log.gz; printf '\001\002\003\004'; tail -c 4 log.gz; } >crc.gz
expect 65 "$T" train s.ini -f m -d crc.gz
says 'hint: the file is damaged; gzip -t FILE says whether a copy is sound'
expect 73 "$T" train s.ini -f log.tsv
says "error: 'log.tsv' is a file, wanted a directory for the model"
says "hint: -f names the model's directory, -d the data"
expect 64 "$T" eval m
says 'error: eval: wanted MODEL and DATA, got 1'
expect 3 "$T" train s.ini -f m -d short.tsv -o data.on_bad_row=skip
echo 'newcomer: all as wanted'
