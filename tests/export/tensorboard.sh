#!/bin/sh
# runs.tensorboard: curves of runs, of a resumed run, of a job; read by TensorBoard itself
# where it is installed.
set -u
. "$SRCDIR/tests/export/export_data.sh"
make_rows 3000 1 >train.tsv
make_rows 200 2 >valid.tsv
make_spec s.ini
printf '[runs]\ntensorboard = curves\n' >>s.ini
expect 0 "$T" train s.ini -f model/ctr --valid valid.tsv --epochs 3
[ "$(ls curves)" = ctr-r0001 ] || { ls -R curves >&2; exit 1; }
expect 0 "$T" train s.ini -f model/ctr --fresh --epochs 2 --workers 2 --ps 1 -o train.slots=4
[ "$(find curves -name 'events.out.tfevents.*' | wc -l)" = 2 ] || { ls -R curves >&2; exit 1; }

# One that is resumed goes on in the directory of the one before.
"$T" train s.ini -f m --epochs 10000 >o 2>e &
pid=$!
n=0
while [ ! -s "$(echo curves/m-r0001/events*)" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done
sleep 0.5
kill "$pid"
ends "$pid"
[ "$code" = 143 ] || { echo "wanted 143, got $code" >&2; cat o e >&2; exit 1; }
expect 0 "$T" train s.ini -f m --resume --epochs 10000 --time-limit 1s
[ "$(find curves/m-r0001 -name 'events*' | wc -l)" = 2 ] && [ ! -e curves/m-r0002 ] ||
	{ ls -R curves >&2; exit 1; }

# Curves that cannot be written are a warning; the run goes on.
touch file
expect 0 "$T" train s.ini -f m3 --epochs 1 -o runs.tensorboard=file/x
says 'no more curves for TensorBoard'

reader tensorboard
expect 0 "$python" -c '
import sqlite3
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
def curves(name):
    a = EventAccumulator("curves/" + name, size_guidance={"scalars": 0})
    a.Reload()
    return {t: a.Scalars(t) for t in a.Tags()["scalars"]}
one = curves("ctr-r0001")
for tag in "loss loss_since_last learning_rate rows_per_second valid.auc valid.calibration".split():
    assert tag in one, (tag, one.keys())
ours = sqlite3.connect("model/runs.db").execute("SELECT step, value FROM metrics WHERE run = 1 "
    "AND key = \"valid.auc\" AND epoch > 0 ORDER BY epoch").fetchall()
assert len(ours) == 3
for e, (step, value) in zip(one["valid.auc"], ours):
    assert e.step == step and abs(e.value - value) < 1e-6, (e, step, value)
job = curves("ctr-r0002")
assert [e.step for e in job["epoch.loss"]] == [30, 60], job
# Nothing twice: what the stopped run had beyond its last version is gone.
steps = [e.step for e in curves("m-r0001")["epoch.loss"]]
assert steps and steps == sorted(set(steps)), steps
print("read by TensorBoard")'
prints 'read by TensorBoard'
echo 'tensorboard: all as wanted'
