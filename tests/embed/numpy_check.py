"""Row optimizers of the program against the same in NumPy, in float64.

usage: numpy_check.py PROGRAM

1000 random steps with ids that repeat inside a slot and over slots.  A row's gradients are
summed first, then it is updated once.  The largest difference of a weight or an optimizer
value must be at most 1e-5 of the largest one of its kind.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("no NumPy, so that row optimizers are not compared", file=sys.stderr)
    sys.exit(77)

SLOTS, STEPS, LIMIT = 4, 1000, 1e-5
# Settings are floats in the program.  L1 is small, as the sign of a weight near 0 may differ.
RATE, EPSILON, BETA1, BETA2, L1, L2, ACCUMULATOR, FTRL_L1, FTRL_L2 = (
    float(np.float32(x)) for x in (0.05, 1e-7, 0.9, 0.999, 1e-4, 0.01, 0.1, 0.001, 0.01))


def sgd(w, g, s):
    w -= RATE * g


def adagrad(w, g, s):
    """Duchi et al. 2011."""
    s[0] += g * g
    w -= RATE * g / (np.sqrt(s[0]) + EPSILON)


def rowwise_adagrad(w, g, s):
    """One sum a row, of the mean of squares."""
    s[0] += np.mean(g * g, axis=1, keepdims=True)
    w -= RATE * g / (np.sqrt(s[0]) + EPSILON)


def adam(w, g, s):
    """Kingma and Ba 2015; t counts the steps of the row."""
    s[2] += 1
    s[0][:] = BETA1 * s[0] + (1 - BETA1) * g
    s[1][:] = BETA2 * s[1] + (1 - BETA2) * g * g
    m, v = s[0] / (1 - BETA1 ** s[2]), s[1] / (1 - BETA2 ** s[2])
    w -= RATE * m / (np.sqrt(v) + EPSILON)


def ftrl(w, g, s):
    """McMahan et al. 2013, algorithm 1, beta 1."""
    sigma = (np.sqrt(s[0] + g * g) - np.sqrt(s[0])) / RATE
    s[1] += g - sigma * w
    s[0] += g * g
    z = s[1]
    w[:] = np.where(np.abs(z) <= FTRL_L1, 0,
                    -(z - np.sign(z) * FTRL_L1) / ((1 + np.sqrt(s[0])) / RATE + FTRL_L2))


# name, update, widths of its values (D: one a column), start of the first
OPTIMIZERS = (
    ("sgd", sgd, (), 0),
    ("adagrad", adagrad, ("D",), ACCUMULATOR),
    ("rowwise_adagrad", rowwise_adagrad, (1,), ACCUMULATOR),
    ("adam", adam, ("D", "D", 1), 0),
    ("ftrl", ftrl, ("D", "D"), ACCUMULATOR),
)


def far(name, got, want):
    return np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30)


def case(program, kernel, optimizer, dim, rows, n):
    name, update, widths, start = optimizer
    widths = [dim if x == "D" else x for x in widths]
    random = np.random.default_rng(dim * 10 + len(name))
    ids = random.integers(0, rows, (STEPS, SLOTS, n)).astype(np.uint64)
    ids[:, :, : n // 3] %= 5                       # some ids repeat often
    scale = random.uniform(0.5, 2, (STEPS, SLOTS, n)).astype(np.float32)
    grad = random.normal(0, 1, (STEPS, SLOTS, n, dim)).astype(np.float32)
    steps = b"".join(ids[t, s].tobytes() + scale[t, s].tobytes() + grad[t, s].tobytes()
                     for t in range(STEPS) for s in range(SLOTS))
    done = subprocess.run([program, kernel, name, str(dim), str(rows), str(n), str(STEPS)],
                          input=steps, stdout=subprocess.PIPE, check=True)
    out = np.frombuffer(done.stdout, np.float32).astype(np.float64)
    size = rows * dim
    w = out[:size].reshape(rows, dim).copy()
    if np.std(w) < 0.05:
        sys.exit("the initial rows are not those asked for")
    state = [np.full((rows, x), float(start) if i == 0 else 0.0) for i, x in enumerate(widths)]
    for t in range(STEPS):
        row, place = np.unique(ids[t].reshape(-1).astype(np.int64), return_inverse=True)
        g = np.zeros((len(row), dim))
        np.add.at(g, place.reshape(-1),
                  scale[t].reshape(-1, 1).astype(np.float64) * grad[t].reshape(-1, dim))
        part, own = w[row], [x[row] for x in state]
        g += L2 * part + L1 * np.sign(part)
        update(part, g, own)
        w[row] = part
        for x, y in zip(state, own):
            x[row] = y
    worst = far("weights", out[size:2 * size].reshape(rows, dim), w)
    slots = out[2 * size:].reshape(rows, sum(widths))
    at = 0
    for x in state:
        worst = np.maximum(worst, far("state", slots[:, at:at + x.shape[1]], x))
        at += x.shape[1]
    print(f"{kernel:4} {name:16} dim {dim:<5} largest difference {worst:.1e}")
    return worst <= LIMIT


def main():
    good = True
    shapes = ((1, 150, 30), (3, 150, 30), (16, 150, 30), (64, 60, 15), (1025, 25, 3))
    for optimizer in OPTIMIZERS:
        good &= case(sys.argv[1], "ref", optimizer, *shapes[1])
        for shape in shapes:
            good &= case(sys.argv[1], "auto", optimizer, *shape)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
