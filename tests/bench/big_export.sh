#!/bin/sh
# A table of 2.3 GB as ONNX, SavedModel and npy: each is verified, read by another program and
# compared on rows of which some lie behind the first 2^31 bytes.  Prints seconds, the most
# memory, and the sizes of files.  Wants the environment of the tests, the readers that
# run-tests installs, 6 GB of memory and 10 GB of disk below TMPDIR; takes minutes.
set -u
. "$SRCDIR/tests/export/export_data.sh"
reader onnx onnxruntime numpy tensorflow

# measured NAME COMMAND...: its seconds and the most memory that it held, file pages among it.
measured() {
	"$python" -c '
import resource, subprocess, sys, time
begin = time.time()
code = subprocess.call(sys.argv[2:])
print(f"{sys.argv[1]}: {time.time() - begin:.1f} s, at most "
      f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
sys.exit(code)' "$@" || fail "$1 failed"
}

make_logs log
cat >big.ini <<'END'
[model]
type = deepfm
[data]
train = log.tsv
format = tsv
header = yes
label = click
[field user]
column = user
buckets = 36000000
[field item]
column = item
buckets = 1000
[embedding]
dim = 16
optimizer = sgd
init_stddev = 0.3
[dnn]
hidden = 16
[train]
epochs = 1
END
measured train "$T" -q train big.ini -f big
du -BM -s big
"$T" predict big log.tsv --format logit >wanted || fail 'no logits'
"$T" predict big log.tsv --format inputs >rows || fail 'no inputs'
# The rows of the table that follow the first 2^31 bytes.
awk -F'[:,}]' '{ for (i = 1; i < NF; i++) if ($i ~ /"user"/ && $(i + 1) >= 33554432) far++ }
	END { print far + 0, "rows are far"; exit far < 20 }' rows || fail 'no row is far'

measured 'export to onnx' "$T" export big --to onnx -O big.onnx --verify log.tsv
ls -l big.onnx big.onnx.data
measured 'onnxruntime' "$python" "$SRCDIR/tests/export/onnx_check.py" big.onnx rows wanted --one 100
"$python" - <<'END' || fail 'onnxruntime does not map'
import time
import onnxruntime
def memory(kind):
    with open("/proc/self/status") as f:
        return next(int(x.split()[1]) // 1024 for x in f if x.startswith(kind))
before, begin = memory("RssAnon"), time.time()
session = onnxruntime.InferenceSession("big.onnx")
own = memory("RssAnon") - before
print(f"onnxruntime: loaded in {time.time() - begin:.2f} s, {own} MB of its own, "
      f"{memory('RssFile')} MB of mapped files")
assert own < 500, own
END
rm big.onnx*

measured 'export to savedmodel' "$T" export big --to savedmodel -O sm --verify log.tsv
ls -l sm/1 sm/1/variables
measured 'tensorflow' "$python" "$SRCDIR/tests/export/savedmodel.py" sm/1:log.tsv:wanted:header
rm -r sm

measured 'export to npy' "$T" export big --to npy -O n.npy
ls -l n.user.npy
measured 'numpy' "$python" -c '
import json, numpy
table = numpy.load("n.user.npy", mmap_mode="r")
assert table.shape == (36000001, 16), table.shape
with open("rows") as f:
    far = [json.loads(x)["user"] for x in f]
print(float(abs(table[far]).max()))'
exit 0
