#!/bin/sh
# librecsys, ONNX and arrays of a model whose tables are exact: scores of known ids and of
# others are those of predict.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 3000 1 >train.tsv
make_rows 500 2 | sed 's/\ti3/\tnew3/' >rows.tsv
make_spec s.ini
expect 0 "$T" -q train s.ini -f m -o embedding.table=exact
expect 0 "$T" predict m rows.tsv --format logit
cp out want
# The shared library is its own program's; a sanitizer wants to be loaded first.
nm "$BUILDDIR/librecsys.so" | grep -q '__asan_init\|__tsan_init' && { echo 'a build with a sanitizer'; exit 77; }
python3 - "$BUILDDIR/librecsys.so" m rows.tsv want <<'END' || exit 1
import ctypes, sys
class Scores(ctypes.Structure):
    _fields_ = [("value", ctypes.POINTER(ctypes.c_float)), ("n", ctypes.c_size_t),
                ("width", ctypes.c_size_t), ("version", ctypes.c_uint64)]
LOGIT = 1
lib = ctypes.CDLL(sys.argv[1])
lib.recsys_error.restype = ctypes.c_char_p
def call(name, *arguments):
    if getattr(lib, name)(*arguments) != 0:
        sys.exit("%s: %s" % (name, lib.recsys_error().decode()))
model, scorer, scores = ctypes.c_void_p(), ctypes.c_void_p(), Scores()
call("recsys_open", sys.argv[2].encode(), ctypes.byref(model))
call("recsys_scorer_open", model, LOGIT, ctypes.byref(scorer))
text = open(sys.argv[3], "rb").read()
call("recsys_score_text", scorer, text, ctypes.c_size_t(len(text)), ctypes.byref(scores))
want = [float(line) for line in open(sys.argv[4])]
have = scores.value[:scores.n]
if len(have) != len(want) or any(abs(x - y) > 2e-5 for x, y in zip(have, want)):
    sys.exit("librecsys scores otherwise than predict")
END

# Exports prove themselves against the trainer.
expect 0 "$T" export m --to onnx -O m.onnx --verify rows.tsv
expect 0 "$T" export m --to savedmodel -O saved --verify rows.tsv
expect 0 "$T" export m --to npz -O m.npz
grep -q '"unknown_row":39' m.onnx.inputs.json || { cat m.onnx.inputs.json; exit 1; }
expect 0 "$T" predict m rows.tsv --format inputs
grep -c '"item":39' out | grep -qx "$(cut -f3 rows.tsv | grep -c new)" ||
	{ echo 'rows of unknown ids'; exit 1; }
exit 0
