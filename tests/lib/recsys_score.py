"""recsys_score.py LIBRARY MODEL ROWS LOGITS: what the library gives rows is what is in a file."""
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
if len(have) != len(want) or not all(abs(x - y) <= 2e-5 for x, y in zip(have, want)):
    sys.exit("librecsys scores otherwise than predict")
