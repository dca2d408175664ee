#!/bin/sh
# runs export --mlflow: MLflow itself opens the file, lists the runs and their histories.
set -u
. "$SRCDIR/tests/export/export_data.sh"
reader mlflow sqlalchemy alembic
make_rows 300 1 >train.tsv
make_rows 200 2 >valid.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 3 --note 'a "b", c'
expect 0 "$T" train s.ini -f m2 --epochs 1
"$python" -c '
import sqlite3
d = sqlite3.connect("runs.db")
d.execute("UPDATE metrics SET value = NULL, text = \"NaN\" WHERE run = 2 AND key = \"train.loss\"")
d.execute("UPDATE runs SET status = \"diverged\" WHERE run = 2")
d.commit()' || exit 1
expect 0 "$T" runs export --mlflow out.db
expect 0 "$python" -c '
from mlflow.tracking import MlflowClient
import math, sqlite3
c = MlflowClient("sqlite:///out.db")
e = {x.name: x.experiment_id for x in c.search_experiments()}
assert set(e) == {"Default", "m", "m2"}, e
[run] = c.search_runs([e["m"]], "metrics.`valid.auc` > 0.1 and params.`train.batch_size` = \"100\"")
assert run.info.run_name == "r0001" and run.info.status == "FINISHED", run
assert run.data.tags["mlflow.note.content"] == "a \"b\", c"
course = c.get_metric_history(run.info.run_id, "valid.auc")
assert [m.step for m in course][:3] == [3, 6, 9], course
ours = [v for v, in sqlite3.connect("runs.db").execute("SELECT value FROM metrics WHERE run = 1 "
    "AND key = \"valid.auc\" ORDER BY epoch = 0, epoch")]
assert [m.value for m in course] == ours, (course, ours)
assert run.data.metrics["valid.auc"] == ours[-1]
assert "MANIFEST" in [f.path for f in c.list_artifacts(run.info.run_id)]
[bad] = c.search_runs([e["m2"]])
assert bad.info.status == "FAILED" and bad.data.tags["recsys_train.status"] == "diverged"
assert math.isnan(bad.data.metrics["train.loss"]), bad.data.metrics
# It stays a database that runs can be added to.
c.log_metric(c.create_run(e["m"]).info.run_id, "valid.auc", 0.5)
print("read by MLflow")'
prints 'read by MLflow'
# What MLflow brought up to date is replaced all the same.
expect 0 "$T" runs export --mlflow out.db
echo 'runs export --mlflow: all as wanted'
