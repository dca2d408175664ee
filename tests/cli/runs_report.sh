#!/bin/sh
# runs report: one page, well formed, with text escaped, that asks for nothing else.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_rows 200 2 >valid.tsv
make_spec s.ini
expect 0 "$T" train s.ini -f m --valid valid.tsv --epochs 3 --tag prod \
	--note '<script>alert("a")</script> & more'
expect 0 "$T" runs report prod -O r.html
[ ! -s out ] || exit 1
expect 0 "$T" runs report 1
cmp out r.html || exit 1
for text in 'name="viewport"' '@media print' '@page{margin' 'Run r0001: ok' '<figcaption>valid auc by epoch' \
	'<figcaption>training loss by epoch' '<figcaption>valid calibration by epoch' \
	'<figcaption>rows per second by epoch' '<h2>Placement</h2>' '<h2>Input</h2>' '<h2>Spec</h2>' \
	'&lt;script&gt;alert(&quot;a&quot;)&lt;/script&gt; &amp; more' 'batch_size = 100'; do
	prints "$text"
done
if grep -qE '<script|https?://|src=|href=' out; then echo 'the page asks for more' >&2; exit 1; fi
[ "$(grep -c '<circle' out)" -ge 12 ] || exit 1
# All but the void elements of the head is well formed.
sed '1d; s/<meta[^>]*>//g' out >page.xml
python3 -c '
import xml.etree.ElementTree as tree
page = tree.parse("page.xml")
assert len(page.findall(".//svg")) == 6, page
for p in page.findall(".//svg/path"):
    assert "nan" not in p.get("d") and p.get("d").startswith("M"), p.get("d")' || exit 1

# A run without a course has a page too; what cannot be written is not there.
expect 3 "$T" train s.ini -f m2 --epochs 1 -o train.learning_rate=1e6 -o embedding.learning_rate=1e6 \
	-o train.optimizer=sgd
expect 0 "$T" runs report last
prints '<h2>Warnings</h2>'
expect 73 "$T" runs report 1 -O none/r.html
mkfifo pipe
expect 73 "$T" runs report 1 -O pipe
says 'a device, pipe or socket has this name'
[ -p pipe ] || { echo 'a pipe was replaced' >&2; exit 1; }
expect 64 "$T" runs report
expect 0 "$T" runs report 1 -O dry.html --dry-run
[ ! -e dry.html ] || exit 1
echo 'runs report: all as wanted'
