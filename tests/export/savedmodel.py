"""Loads SavedModels with TensorFlow and scores raw rows.

Each argument is VERSION_DIRECTORY:DATA:SCORES[:header].  SCORES are the logits that the trainer
predicts for the rows of DATA, whose first line names the columns when it says so.  Prints the
largest difference of each; ends with 1 when one is more than 1e-5 + 1e-4 |x|.
"""
import csv
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import tensorflow as tf


def padded(lists, nothing, dtype):
    width = max([len(x) for x in lists] + [1])
    return np.array([x + [nothing] * (width - len(x)) for x in lists], dtype=dtype)


def feed_of(about, rows, names):
    """What the input of this description gets."""
    settings, missing, kind = about["settings"], about["missing"], about["kind"]
    column = settings["column"]
    at = names.index(column) if column in names else int(column) - 1
    text = [row[at] for row in rows]
    if kind == "number":
        return np.array([np.nan if t in missing else float(t) for t in text], np.float32)
    if kind == "text":
        return np.array([t.encode() for t in text], dtype=object)
    separator, weight = about["item_separator"], about["weight_separator"]
    lists = [[] if t in missing else t.split(separator) for t in text]
    if kind == "weights":
        return padded([[float(x.rsplit(weight, 1)[1]) for x in l] for l in lists], 0, np.float32)
    if weight:
        lists = [[x.rsplit(weight, 1)[0] for x in l] for l in lists]
    return padded([[x.encode() for x in l] for l in lists], b"", object)


def check(directory, data, scores, header=""):
    with open(data, newline="") as f:
        rows = list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = rows.pop(0) if header else []
    wanted = np.loadtxt(scores, ndmin=1)
    with open(os.path.join(directory, "inputs.json")) as f:
        about = {x["name"]: x for x in json.load(f)["inputs"]}
    model = tf.saved_model.load(directory)
    feed = {k: tf.constant(feed_of(v, rows, names)) for k, v in about.items()}
    result = {}
    for name, signature in model.signatures.items():
        keys = signature.structured_input_signature[1]
        result[name] = {k: v.numpy() for k, v in signature(**{k: feed[k] for k in keys}).items()}
    got = result["serving_default"]
    got = got.get("logit", got.get("prediction")).ravel()
    for name in result.keys() - {"serving_default"}:
        vector = result[name]["vector"]
        assert len(vector) == len(rows) and np.isfinite(vector).all(), name
    far = np.abs(got - wanted)
    over = int(np.sum(~(far <= 1e-5 + 1e-4 * np.abs(wanted))))
    print(f"{directory}: {len(got)} rows, largest difference {far.max():.3g}, {over} over")
    return over == 0 and len(got) == len(wanted)


print(f"tensorflow {tf.__version__}")
sys.exit(0 if all([check(*job.split(":")) for job in sys.argv[1:]]) else 1)
