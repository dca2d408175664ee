#!/bin/sh
# Every model of the program, in processes, its gradients in as many buckets as can be: the
# dump of one process.  MODELS="dcn din" looks at these only; ALL=1 at every variant, with more
# grids.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
. "$SRCDIR/tests/cli/models_data.sh"
ALL=${ALL:-0}
set -- $JOB --epochs 1 -q

# try MODEL NAME DATA GRIDS OPTION...
try() {
	model=$1 name=$1.$2 data=$3 grids=$4
	shift 4
	case $data in
	clicks) train=train.tsv valid=valid.tsv ;;
	*) train=taken.tsv valid=taken_valid.tsv ;;
	esac
	set -- train $data.ini -d $train --valid $valid -o "model.type=$model" "$@"
	rm -rf m
	expect 0 "$T" "$@" -f m
	dump m >want
	for grid in $grids; do
		rm -rf m
		expect 0 timeout -k 9 60 "$T" "$@" -f m --workers "${grid%x*}" --ps "${grid#*x}" \
			-o cluster.bucket_bytes=1
		dump m >got
		same want got "$name: $grid gives another model"
	done
	nothing_left "by $name"
}

"$T" help --mdoc-models | sed -n 's/^\.It Cm //p' >models
[ -s models ] || { echo 'no models' >&2; exit 1; }
for model in ${MODELS:-$(cat models)}; do
	variants "$model" >list
	grids='2x2 3x1 1x3 3x3'
	if [ "$ALL" = 0 ]; then
		# The last of each: the one that is most unlike the plain model.
		tail -n 1 list >last
		mv last list
		grids=3x2
	fi
	while read -r variant data options; do
		# shellcheck disable=SC2086
		try "$model" "$variant" "$data" "$grids" "$@" $options </dev/null
	done <list
	[ $? = 0 ] || exit 1
done
exit 0
