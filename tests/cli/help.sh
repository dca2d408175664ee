#!/bin/sh
# Help: --help of everything, the samples, the manual pages, the completions.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# Help of the program and of every command: on stdout, exit 0, 79 columns, and it
# names every option once.
expect 0 "$T" --help
[ ! -s err ] || exit 1
commands=$("$T" help --mdoc-commands | sed -n 's/^\.It Cm //p')
[ "$(echo "$commands" | wc -w)" -ge 10 ] || exit 1
for command in $commands; do
	expect 0 "$T" "$command" --help
	[ ! -s err ] || { cat err; exit 1; }
	grep -q "^usage: recsys-train $command" out || { cat out; exit 1; }
	awk 'length($0) > 79 { print; bad = 1 } END { exit bad }' out || exit 1
	cp out first
	expect 0 "$T" -h "$command"
	same first out "-h before $command differs from --help behind it"
	expect 0 "$T" help "$command"
	same first out "help $command differs from $command --help"
	"$T" help --mdoc-options "$command" | sed -n 's/^\.It.* Fl -\([a-z-]*\).*/--\1/p' >options
	while read -r option; do
		[ "$(grep -c -- " $option\\($\\|[ \\[]\\)" out)" -ge 1 ] || { echo "$command $option"; exit 1; }
	done <options
done
expect 64 "$T" help nothing

# Every page that is of no command has its name there, and no other page has.
for page in "$SRCDIR"/man/*.[57]; do
	page=${page##*/}
	name=${page%.*}
	name=${name#recsys-train}
	expect 0 "$T" help "${name#[-.]}"
	prints "'man ${page##*.} ${page%.*}' opens the manual page"
	"$T" --help | grep -q "^  ${name#[-.]} " || { echo "--help without ${name#[-.]}"; exit 1; }
done
expect 64 "$T" help train eval

# --help beats what else is wrong, except with the command line itself.
expect 0 "$T" check --help none.ini
expect 64 "$T" check --help --wrong

# A spec of every key is a spec: what it says is what is there anyway.
expect 0 "$T" help --spec
cp out sample.ini
[ "$(grep -c '^#\?[a-z_0-9]* = ' sample.ini)" -ge 60 ] || { cat sample.ini; exit 1; }
make_rows 200 1 >train.tsv
make_spec s.ini
expect 0 "$T" check s.ini --layer sample.ini

# Completions: every command, option and key is in them.
expect 0 "$T" completion bash
bash -n out || exit 1
cp out bash.sh
for word in $commands --valid --db train.epochs= data.on_bad_row=; do
	for shell in bash zsh fish; do
		"$T" completion $shell | grep -q -- "${word#--}" || { echo "$shell: no $word"; exit 1; }
	done
done
# They work: words at the place of the cursor.
complete_words() {
	bash -c '. ./bash.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _recsys_train; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
[ "$(complete_words recsys-train ev)" = eval ] || exit 1
[ "$(complete_words recsys-train help clu)" = cluster ] || exit 1
[ -z "$(complete_words recsys-train clu)" ] || exit 1
complete_words recsys-train train --exp | grep -qx -- --expect-rows || exit 1
complete_words recsys-train -o train.ep | grep -qx train.epochs= || exit 1
complete_words recsys-train check sample | grep -qx sample.ini || exit 1
offers() { # WANTED WORD...: what is offered for the last word
	wanted=$1
	shift
	[ "$(complete_words recsys-train "$@" | tr '\n' ' ')" = "$wanted " ] ||
		{ echo "wanted $wanted after $*"; complete_words recsys-train "$@"; exit 1; }
}
offers 'onnx savedmodel npy npz safetensors text vectors recsys delta' export --to ''
offers savedmodel export m --to sav
offers 'f32 f16 int8' export m --dtype ''
offers 'prob logit tsv json inputs' predict --format ''
offers 'tsv json' recommend --format ''
offers 'tsv csv' synth --format ''
offers 'tsv csv tfrecord libsvm libffm libfm lists' init --format ''
offers 'auto always' --color a
"$T" completion fish | grep -q "export' -l to -r -f -a 'onnx savedmodel" || exit 1
expect 64 "$T" completion tcsh
says "'tcsh': bash, zsh or fish is wanted"
expect 64 "$T" completion

# Every page of the manual renders, each in its sections.
command -v mandoc >/dev/null || exit 0
backspace=$(printf '\b')
for page in "$SRCDIR"/man/*.[157]; do
	mandoc -T ascii "$page" 2>page.err >page.raw || { cat page.err; exit 1; }
	sed "s/.$backspace//g" page.raw >page.txt
	grep -q '^NAME$' page.txt && [ "$(wc -l <page.txt)" -gt 10 ] || { echo "$page"; exit 1; }
done
exit 0
