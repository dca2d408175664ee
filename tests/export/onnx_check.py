#!/usr/bin/env python3
"""An exported model in ONNX Runtime, compared with what the trainer says of the same rows.

usage: onnx_check.py FILE.onnx ROWS WANTED [--scale X] [--one N] [--lengths N,...]

ROWS are the lines of `predict --format inputs`, WANTED those of `--format logit`, or of
`--tower T --format tsv`.  Batches are of 1 (the first N rows), 7 and 1024 rows.  --scale
times both sides are compared: a temperature makes cosines of logits.  --lengths: lists
that must be among the rows.
"""
import argparse
import json
import sys

import numpy as np
import onnx
import onnxruntime

ABSOLUTE, RELATIVE = 1e-5, 1e-4
OPERATORS_OF = {"", "ai.onnx"}


def read_wanted(path, scale):
    rows = []
    with open(path) as lines:
        for line in lines:
            cells = line.split("\t")
            rows.append([float(x) for x in (cells[1:] if len(cells) > 1 else cells)])
    return np.array(rows) * scale


def make_feed(session, forms, rows, more):
    """`more` columns of padding than needed: they must not count."""
    feed, longest = {}, {}
    for i in session.get_inputs():
        if len(i.shape) == 2:
            most = max([1] + [len(row[i.name]) for row in rows])
            longest[i.shape[1]] = max(most, longest.get(i.shape[1], 0))
    for i in session.get_inputs():
        kind = forms[i.name]["kind"]
        if kind in ("bag", "weight"):
            pad, type_ = (-1, np.int64) if kind == "bag" else (0, np.float32)
            x = np.full((len(rows), longest[i.shape[1]] + more), pad, type_)
            for b, row in enumerate(rows):
                x[b, : len(row[i.name])] = row[i.name]
        elif kind == "id":
            x = np.array([row[i.name] for row in rows], np.int64)
        else:
            x = np.array([np.nan if row[i.name] is None else row[i.name] for row in rows],
                         np.float32)
        feed[i.name] = x
    return feed


def check_file(path):
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path, load_external_data=False)
    assert model.ir_version == 8, model.ir_version
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]
    assert all(n.domain in OPERATORS_OF for n in model.graph.node)
    assert {p.key for p in model.metadata_props} >= {"recsys.model", "recsys.hash"}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("file")
    a.add_argument("rows")
    a.add_argument("wanted")
    a.add_argument("--scale", type=float, default=1.0)
    a.add_argument("--one", type=int, default=100)
    a.add_argument("--lengths", default="")
    a = a.parse_args()

    check_file(a.file)
    with open(a.rows) as lines:
        rows = [json.loads(line) for line in lines]
    wanted = read_wanted(a.wanted, a.scale)
    assert len(rows) == len(wanted) > 0, (len(rows), len(wanted))
    with open(a.file + ".inputs.json") as f:
        description = json.load(f)
    forms = {i["name"]: i for i in description["inputs"]}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(a.file, options)
    names = [i.name for i in session.get_inputs()]
    assert sorted(names) == sorted(forms) == sorted(rows[0]), (names, forms, rows[0])
    assert [o.name for o in session.get_outputs()] == description["outputs"]

    seen = {len(v) for row in rows for v in row.values() if isinstance(v, list)}
    lacking = {int(x) for x in a.lengths.split(",") if x} - seen
    assert not lacking, f"no lists of {lacking}"

    for size, n, more in ((1, a.one, 0), (7, len(rows), 3), (1024, len(rows), 0)):
        got = []
        for begin in range(0, min(n, len(rows)), size):
            part = rows[begin : min(begin + size, n)]
            out = session.run(None, make_feed(session, forms, part, more))
            got.append(out[0])
            if len(out) > 1:
                assert np.allclose(out[1], 1 / (1 + np.exp(-out[0].astype(float))), 1e-5, 1e-6)
        got = np.concatenate(got).astype(float) * a.scale
        far = np.abs(got - wanted[: len(got)])
        over = far > ABSOLUTE + RELATIVE * np.abs(wanted[: len(got)])
        print(f"{a.file}: batch {size}, {len(got)} rows, largest difference "
              f"{far.max():.3g} of {np.abs(wanted).max():.3g}")
        # NaN is too far as well.
        if over.any() or not np.isfinite(far).all():
            print(f"{int(over.any(axis=1).sum())} rows are too far", file=sys.stderr)
            return 1
    return 0


sys.exit(main())
