"""LightGBM on a Criteo log: peers_lightgbm.py TRAIN VALID; threads are those of OMP_NUM_THREADS.

Numbers as they are, hashed ids as categories of 1,023 buckets, 100 trees of 63 leaves.  Prints
the rows a second of reading and training, and the logloss of VALID.
"""
import math
import os
import sys
import time
import zlib

import lightgbm
import numpy as np


def read(path):
    label, cells = [], []
    with open(path, "rb") as f:
        for line in f:
            row = line.rstrip(b"\n").split(b"\t")
            label.append(float(row[0]))
            cells.append([float(c) if c else math.nan for c in row[1:14]] +
                         [zlib.crc32(c) % 1023 for c in row[14:40]])
    return np.array(cells, dtype=np.float32), np.array(label)


begin = time.perf_counter()
x, y = read(sys.argv[1])
data = lightgbm.Dataset(x, y, categorical_feature=list(range(13, 39)))
model = lightgbm.train({"objective": "binary", "num_leaves": 63, "verbosity": -1, "seed": 1,
                        "num_threads": int(os.environ.get("OMP_NUM_THREADS", "1"))}, data, 100)
seconds = time.perf_counter() - begin
x, y_valid = read(sys.argv[2])
p = np.clip(model.predict(x), 1e-7, 1 - 1e-7)
loss = -np.mean(y_valid * np.log(p) + (1 - y_valid) * np.log(1 - p))
print(round(len(y) / seconds), loss)
