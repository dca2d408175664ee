"""The models of `recsys-train bench` in PyTorch, as somebody who knows it writes them.

    peers_torch.py MODEL BATCH OPTIMIZER SECONDS      steps over batches in memory
    peers_torch.py --text FILE                        one epoch of FM from a Criteo log

OPTIMIZER: sparse (gradients of touched rows only, Adagrad; the network Adam) or dense (Adam over
every row, as CTR libraries have it).  BF16=1 computes the products in bfloat16.  Threads are
those of OMP_NUM_THREADS.  Prints the median samples a second; with --text the samples a
second of the whole run and the logloss of the last tenth, which is not trained.

Shapes as in recsys-train-bench(1): 26 fields of 100,000 buckets, 13 numbers that scale a vector
each, dim 16.
"""
import os
import statistics
import sys
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

DIM, FIELDS, NUMBERS, BUCKETS = 16, 26, 13, 100000
HISTORY = 50
USER_FIELDS = 16
SPREAD = [1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27,
          14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572]


def layers(widths, last_is_linear=False):
    out = []
    for n_in, n_out in zip(widths, widths[1:]):
        out += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*(out[:-1] if last_is_linear else out))


class Rows(nn.Module):
    """One table for all fields, or with dense gradients one for each."""

    def __init__(self, dim, sparse):
        super().__init__()
        n = 1 if sparse else FIELDS
        self.table = nn.ModuleList(
            nn.Embedding(BUCKETS * FIELDS // n, dim, sparse=sparse) for _ in range(n))
        for table in self.table:
            nn.init.normal_(table.weight, std=1e-3)

    def of(self, field, ids):
        if len(self.table) == 1:
            return self.table[0](ids + field * BUCKETS)
        return self.table[field](ids)

    def forward(self, ids):
        if len(self.table) == 1:
            return self.table[0](ids + torch.arange(FIELDS) * BUCKETS)
        return torch.stack([self.of(f, ids[:, f]) for f in range(FIELDS)], 1)


class Base(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.rows = Rows(DIM, sparse)
        self.number = nn.Parameter(torch.randn(NUMBERS, DIM) * 1e-3)

    def vectors(self, batch):
        return torch.cat([self.rows(batch["ids"]), batch["numbers"][:, :, None] * self.number], 1)

    def forward(self, batch):
        return F.binary_cross_entropy_with_logits(self.logit(batch), batch["label"])


class Fm(Base):
    def __init__(self, sparse):
        super().__init__(sparse)
        self.first, self.bias = Rows(1, sparse), nn.Parameter(torch.zeros(1))
        self.first_number = nn.Parameter(torch.zeros(NUMBERS))

    def pairs(self, batch, v):
        first = self.first(batch["ids"]).sum((1, 2)) + batch["numbers"] @ self.first_number
        return self.bias + first + (v.sum(1).square() - v.square().sum(1)).sum(1) / 2

    def logit(self, batch):
        return self.pairs(batch, self.vectors(batch))


class DeepFm(Fm):
    def __init__(self, sparse):
        super().__init__(sparse)
        self.net = layers([(FIELDS + NUMBERS) * DIM, 400, 400, 400, 1], last_is_linear=True)

    def logit(self, batch):
        v = self.vectors(batch)
        return self.pairs(batch, v) + self.net(v.flatten(1))[:, 0]


class Dcn(Base):
    def __init__(self, sparse):
        super().__init__(sparse)
        n = (FIELDS + NUMBERS) * DIM
        self.cross = nn.ModuleList(nn.Linear(n, n) for _ in range(3))
        self.net, self.out = layers([n, 400, 400, 400]), nn.Linear(n + 400, 1)

    def logit(self, batch):
        x = x0 = self.vectors(batch).flatten(1)
        for cross in self.cross:
            x = torch.addcmul(x, x0, cross(x))
        return self.out(torch.cat([x, self.net(x0)], 1))[:, 0]


class Din(Base):
    """The target is the first two fields; histories have the rows of those."""

    def __init__(self, sparse):
        super().__init__(sparse)
        pair = 2 * DIM
        self.attention = layers([4 * pair, 64, 1], last_is_linear=True)
        self.net = layers([(FIELDS + NUMBERS) * DIM + pair, 400, 400, 400, 1], last_is_linear=True)

    def logit(self, batch):
        v = self.vectors(batch)
        target = v[:, None, :2].flatten(2).expand(-1, HISTORY, -1)
        past = torch.cat([self.rows.of(f, batch["past"][f]) for f in range(2)], 2)
        weight = self.attention(torch.cat([past, target, past - target, past * target], 2))
        pooled = torch.bmm(weight.transpose(1, 2), past)[:, 0]
        return self.net(torch.cat([v.flatten(1), pooled], 1))[:, 0]


class TwoTower(Base):
    def __init__(self, sparse):
        super().__init__(sparse)
        self.user = layers([(USER_FIELDS + NUMBERS) * DIM, 256, 128, 64], last_is_linear=True)
        self.item = layers([(FIELDS - USER_FIELDS) * DIM, 256, 128, 64], last_is_linear=True)

    def forward(self, batch):
        v = self.vectors(batch)
        user = self.user(torch.cat([v[:, :USER_FIELDS], v[:, FIELDS:]], 1).flatten(1))
        item = self.item(v[:, USER_FIELDS:FIELDS].flatten(1))
        score = F.normalize(user) @ F.normalize(item).T / 0.05 - batch["log_q"]
        return F.cross_entropy(score, torch.arange(len(score)))


MODELS = {"fm": Fm, "deepfm": DeepFm, "dcn": Dcn, "din": Din, "two_tower": TwoTower}


def optimizers(model, sparse):
    if not sparse:
        return [torch.optim.Adam(model.parameters(), lr=1e-3)]
    rows, rest = [], []
    for name, p in model.named_parameters():
        (rows if ".table." in name else rest).append(p)
    return [torch.optim.Adagrad(rows, lr=0.02), torch.optim.Adam(rest, lr=1e-3)]


def train(model, optimizer, batch):
    for o in optimizer:
        o.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=os.environ.get("BF16") == "1"):
        loss = model(batch)
    loss.backward()
    for o in optimizer:
        o.step()


def zipf(random, n_ids, size):
    """Ids by a power law of exponent 1.05, in buckets."""
    id = np.floor((1 - random.random(size) * (1 - (n_ids + 1.0) ** -0.05)) ** -20.0)
    mixed = id.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return torch.from_numpy(((mixed >> np.uint64(32)) % np.uint64(BUCKETS)).astype(np.int64))


def random_batch(random, size):
    return {
        "label": torch.from_numpy((random.random(size) < 0.25).astype(np.float32)),
        "ids": torch.stack([zipf(random, n, size) for n in SPREAD], 1),
        "numbers": torch.from_numpy(np.log1p(random.lognormal(1, 1.5, (size, NUMBERS))).astype(
            np.float32)),
        "past": [zipf(random, n, (size, HISTORY)) for n in (1000000, 2000)],
        "log_q": torch.zeros(size),
    }


def in_memory(name, size, sparse, seconds):
    random = np.random.default_rng(1)
    batches = [random_batch(random, size) for _ in range(max(4, 65536 // size))]
    model = MODELS[name](sparse)
    optimizer, took = optimizers(model, sparse), []
    for batch in batches[:2]:
        train(model, optimizer, batch)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took) < 3:
        begin = time.perf_counter()
        train(model, optimizer, batches[len(took) % len(batches)])
        took.append(time.perf_counter() - begin)
    print(round(size / statistics.median(took)))


def read_batches(path, size):
    """Labels, hashed ids and log1p of numbers, as the spec of bench has them."""
    rows = []
    with open(path, "rb") as f:
        for line in f:
            rows.append(line.rstrip(b"\n").split(b"\t"))
            if len(rows) == size:
                yield rows
                rows = []
    if rows:
        yield rows


def as_batch(rows):
    ids = [[zlib.crc32(cell) % BUCKETS for cell in row[14:40]] for row in rows]
    numbers = [[float(cell or 0) for cell in row[1:14]] for row in rows]
    return {
        "label": torch.tensor([float(row[0]) for row in rows]),
        "ids": torch.tensor(ids),
        "numbers": torch.tensor(numbers).clamp(min=0).log1p(),
    }


def from_text(path):
    with open(path, "rb") as f:
        n = sum(1 for _ in f)
    begin, model, seen, loss = time.perf_counter(), Fm(True), 0, []
    optimizer = optimizers(model, True)
    for rows in read_batches(path, 4096):
        batch = as_batch(rows)
        if seen + len(rows) <= n * 9 // 10:
            train(model, optimizer, batch)
        else:
            with torch.no_grad():
                loss.append((len(rows), float(model(batch))))
        seen += len(rows)
    print(round(n / (time.perf_counter() - begin)),
          sum(k * x for k, x in loss) / sum(k for k, _ in loss))


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if sys.argv[1] == "--text":
        from_text(sys.argv[2])
    else:
        in_memory(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "sparse", float(sys.argv[4]))
