#!/bin/sh
# Run layers of configs/: each goes over a spec, says what it is for, and places the run.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 600 1 >train.tsv
make_spec s.ini
printf '[train]\nslots = 2\n[data]\ntime = 4\n' >>s.ini    # the layer hourly wants a time

for layer in local hybrid gpu slurm kubernetes hourly; do
	file=$SRCDIR/configs/$layer.ini
	head -n 1 "$file" | grep -q '^# Run layer' || { echo "$layer says nothing"; exit 1; }
	grep -q -- "--layer $layer.ini" "$file" || { echo "$layer: how is it used?"; exit 1; }
	expect 0 "$T" check s.ini --layer "$file" --strict
	expect 0 "$T" check s.ini --layer "$file" --show-origin
	prints "$layer.ini"
done

# They win over the spec, and -o over them.
printf '[placement]\nmode = hybrid\n[cluster]\nworkers = 2\n' >>s.ini
expect 0 "$T" train s.ini --layer "$SRCDIR/configs/local.ini" -f local -P none
expect 0 "$T" runs show last --json
prints '"mode":"local"'
expect 0 "$T" train s.ini --layer "$SRCDIR/configs/local.ini" -o cluster.workers=2 \
	-o placement.mode=allreduce -f none -n
prints 'in 2 workers'
"$T" --version | grep -qw zmq || exit 0
expect 0 timeout -k 9 60 "$T" train s.ini --layer "$SRCDIR/configs/hybrid.ini" -f hybrid -P none
expect 0 "$T" runs show last --json
prints '"mode":"hybrid"'
dump local >want
dump hybrid >have
same want have 'the layer hybrid gave another model'
expect 0 "$T" k8s s.ini --layer "$SRCDIR/configs/kubernetes.ini" -o cluster.workers=0
prints 'absence = 15m'
prints '--layer, /spec/layer-0.ini,'
prints '-o, "cluster.workers=0",'
