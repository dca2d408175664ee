#!/bin/sh
# Every model of the program: 1, 2 and 3 threads, and runs stopped or killed in the
# middle and resumed, end with one and the same canonical dump; what is saved scores
# and predicts as what was trained, elsewhere and with everything else gone.
# MODELS="dcn din" looks at these only; KILLS (default 2) interruptions a variant.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
KILLS=${KILLS:-2}
kills=0

. "$SRCDIR/tests/cli/models_data.sh"

# interrupt DIRECTORY: trains with the arguments in "$@" until it ends, stopped or
# killed up to KILLS times on the way.
interrupt() {
	dir=$1
	shift
	n=0 resume=
	while :; do
		"$T" "$@" -f "$dir" $resume >/dev/null 2>err & pid=$!
		resume=--resume
		if [ "$n" -lt "$KILLS" ]; then
			sleep "0.$(awk -v s="$((kills + n))" 'BEGIN { srand(s); printf "%02d", 3 + 20 * rand() }')"
			if [ $((n % 2)) = 0 ]; then kill -9 $pid; else kill -TERM $pid; fi 2>/dev/null
		fi
		ends $pid
		case $code in
		0) break ;;
		137 | 143) n=$((n + 1)) ;;
		*) echo "$dir: exit $code" >&2; cat err >&2; exit 1 ;;
		esac
	done
	kills=$((kills + n))
}

# try MODEL NAME DATA OPTION...
try() {
	model=$1 name=$1.$2 data=$3
	shift 3
	rm -rf m away
	case $data in
	clicks) train=train.tsv valid=valid.tsv shown='auc|logloss' ;;
	*) train=taken.tsv valid=taken_valid.tsv shown=ndcg@10 ;;
	esac
	set -- train $data.ini -d $train --valid $valid -o "model.type=$model" "$@" -q
	for j in 1 2 3; do
		expect 0 "$T" "$@" -f m --fresh -j $j --json
		grep '"summary"' out >summary
		dump m >got
		[ $j = 1 ] && cp got want
		same want got "$name: $j threads give another model"
	done
	[ "$(wc -l <want)" -gt 20 ] || { echo "$name: the dump is empty" >&2; exit 1; }
	interrupt resumed "$@" -o train.checkpoint_every=0.02 -j 2
	dump resumed >got
	same want got "$name: a resumed run gives another model"
	rm -rf resumed

	# B026: the figures of the last epoch are those of what was saved.
	sed -n 's/.*"valid":{\([^}]*\)}.*/\1/p' summary | tr , '\n' |
		grep -E "\"($shown)\"" |
		grep -v null >figures
	[ -s figures ] || { echo "$name: no figures in the summary" >&2; cat summary >&2; exit 1; }
	expect 0 "$T" eval m $valid --json -j 2
	while read -r figure; do
		prints "$figure"
	done <figures
	# B026: and B028: a copy elsewhere, without spec and training rows, predicts the same.
	expect 0 "$T" predict m $valid -j 1
	cp out want
	mkdir away hidden
	cp -r m away
	mv ./*.ini taken.tsv train.tsv hidden
	expect 0 "$T" predict away/m $valid -j 3
	mv hidden/* .
	rmdir hidden
	same want out "B026: $name predicts otherwise after it was moved"
	[ "$(sort -u want | wc -l)" -gt 50 ] || { echo "$name: predictions are all alike" >&2; exit 1; }
}

"$T" help --mdoc-models | sed -n 's/^\.It Cm //p' >models
[ -s models ] || { echo 'no models' >&2; exit 1; }
for model in ${MODELS:-$(cat models)}; do
	variants "$model" >list
	while read -r variant data options; do
		# shellcheck disable=SC2086
		try "$model" "$variant" "$data" $options </dev/null
	done <list
	[ $? = 0 ] || exit 1
done
echo "$(cat models | wc -l) models, $kills interruptions"
exit 0
