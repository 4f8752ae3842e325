"""What the package costs beside the library and beside NumPy, in one run: `python benches/peers/python.py`.

Each line is the median of 21 rounds, in which all take turns, with the smallest and the largest.
"""

import time

import numpy as np

import attnlab

ROUNDS, SIZE, TRIALS = 21, 10_000, 256


@attnlab.claim("bench.one", statement="$|\\bar x| < 1$.", trials=TRIALS)
def one(p, rng):
    return abs(rng.normal(size=SIZE).mean()) < 1


@attnlab.claim("bench.block", statement="$|\\bar x| < 1$.", trials=TRIALS, block=TRIALS)
def block(p, rng, trials):
    return abs(rng.normal(size=(trials, SIZE)).mean(axis=1)) < 1


def draw(rng):
    return abs(rng.normal(size=(TRIALS, SIZE)).mean(axis=1)) < 1


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def spread(values):
    values = sorted(values)
    return f"{values[len(values) // 2]:.2f} [{values[0]:.2f}, {values[-1]:.2f}]"


def main():
    outside = []
    for _ in range(ROUNDS):
        verdicts = []
        around = seconds(lambda: verdicts.append(attnlab.check("aot.lemma1", trials=20)))
        outside.append(1e3 * (around - verdicts[0].wall_s))
    print(f"a check, ms outside of the library: {spread(outside)}")
    runs = {
        "NumPy's own generator": lambda: draw(np.random.default_rng(1)),
        "a stream of the library": lambda: draw(attnlab.generator(1, "bench")),
        "a claim in blocks": lambda: attnlab.check("bench.block"),
        "a claim, trial by trial": lambda: attnlab.check("bench.one"),
    }
    rounds = [{name: seconds(run) for name, run in runs.items()} for _ in range(ROUNDS)]
    bare, *others = runs
    print(f"{TRIALS} trials of {SIZE} normal numbers, {bare}: {spread([1e3 * r[bare] for r in rounds])} ms")
    for name in others:
        print(f"  {name}, times that: {spread([r[name] / r[bare] for r in rounds])}")


if __name__ == "__main__":
    main()
