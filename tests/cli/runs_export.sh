#!/bin/sh
# runs export: JSON and CSV of all that is on record; what excludes what.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_rows 200 2 >valid.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 2 --note 'a "b", c' --tag prod
expect 0 "$T" train s.ini -f m --fresh --epochs 1

expect 0 "$T" runs export --csv
prints 'run,part,key,epoch,step,rows,value'
prints 'r0001,run,note,,,,"a ""b"", c"'
prints 'r0001,param,train.batch_size,,,,100'
prints 'r0001,metric,valid.auc,1,3,300,0.'
prints 'r0001,metric,valid.auc,2,6,300,0.'
prints 'r0002,metric,train.loss,0,3,300,0.'
# Quoted commas apart, each line has seven cells.
sed 's/"[^,]*, c"/x/; s/"[^"]*"/x/g' out | awk -F, 'NF != 7 { print; bad = 1 } END { exit bad }' >&2 || exit 1
expect 0 "$T" runs export --csv --tag prod
if grep -q '^r0002' out; then cat out >&2; exit 1; fi
expect 0 "$T" runs export 2 2 --csv
if grep -q '^r0001' out || [ "$(grep -c ',run,status,' out)" != 1 ]; then cat out >&2; exit 1; fi

expect 0 "$T" runs export --json -O all.json
[ ! -s out ] || exit 1
grep -q '^{"run":"r0001","status":"ok"' all.json && grep -q '^{"run":"r0002"' all.json || exit 1
python3 -c '
import json
runs = json.load(open("all.json"))
assert [r["run"] for r in runs] == ["r0001", "r0002"], runs
assert [m["epoch"] for m in runs[0]["metrics"] if m["key"] == "valid.auc"] == [1, 2, 0]
assert {"key": "train.batch_size", "value": "100"} in runs[1]["params"]' || exit 1

# An empty list is no error; what cannot be written is, and leaves nothing.
expect 0 "$T" runs export --json --tag none
[ "$(tr -d '\n' <out)" = '[]' ] || exit 1
expect 73 "$T" runs export --json -O none/x.json
expect 0 "$T" runs export --mlflow out.db
expect 0 "$T" runs export --mlflow out.db --dry-run
expect 73 "$T" runs export --mlflow runs.db
says "'runs.db' exists and is no database of MLflow"
expect 0 "$T" runs list
for wrong in '' '--csv --json' '--mlflow x.db --csv' '--mlflow x.db -O y' '1 --last 1 --csv'; do
	# shellcheck disable=SC2086
	expect 64 "$T" runs export $wrong
done
expect 64 "$T" runs export 9 --csv
[ ! -e x.db ] && [ -z "$(find . -name '.tmp*')" ] || exit 1
echo 'runs export: all as wanted'
