#!/bin/sh
# B033: training under a comma locale and predicting under C, or the reverse, gives
# the same model and the same predictions.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

if ! locale -a 2>/dev/null | grep -qix 'de_DE.utf-\{0,1\}8'; then
	if ! localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 >/dev/null 2>&1; then
		echo "no de_DE.UTF-8 locale here and localedef cannot make one"
		exit 77
	fi
	export LOCPATH="$work"
fi

"$RECSYS_TRAIN" -q synth -O log.tsv --rows 3000 --spec-out demo.ini
for locale in de_DE.UTF-8 C; do
	LC_ALL=$locale "$RECSYS_TRAIN" -q train demo.ini -f "$locale" --epochs 1
	LC_ALL=$locale "$RECSYS_TRAIN" inspect "$locale" --dump text >"$locale.dump"
done
cmp de_DE.UTF-8.dump C.dump
LC_ALL=C "$RECSYS_TRAIN" predict de_DE.UTF-8 log.tsv >one
LC_ALL=de_DE.UTF-8 "$RECSYS_TRAIN" predict C log.tsv >two
cmp one two
[ "$(wc -l <one)" -eq 3000 ]
! grep -q , one
