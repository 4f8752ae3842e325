"""What the package costs beside the library and beside NumPy, in one run: `python benches/peers/python.py`.

Medians of 21 runs each, with the ratio or the difference that docs/python.md promises.
"""

import statistics
import time

import numpy as np

import attnlab

SIZE, TRIALS = 10_000, 256


@attnlab.claim("bench.one", statement="$|\\bar x| < 1$.", trials=TRIALS)
def one(p, rng):
    return abs(rng.normal(size=SIZE).mean()) < 1


@attnlab.claim("bench.block", statement="$|\\bar x| < 1$.", trials=TRIALS, block=TRIALS)
def block(p, rng, trials):
    return abs(rng.normal(size=(trials, SIZE)).mean(axis=1)) < 1


def seconds(work):
    def once():
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    work()
    return statistics.median(once() for _ in range(21))


def main():
    found = []

    def check():
        found.append(attnlab.check("aot.lemma1", trials=20))

    around, inside = seconds(check), statistics.median(v.wall_s for v in found)
    print(f"a check: {1e3 * around:.2f} ms, {1e3 * (around - inside):.2f} ms of them outside of the library")
    bare = seconds(lambda: abs(np.random.default_rng(1).normal(size=(TRIALS, SIZE)).mean(axis=1)) < 1)
    same = seconds(lambda: abs(attnlab.generator(1, "bench").normal(size=(TRIALS, SIZE)).mean(axis=1)) < 1)
    print(f"{TRIALS} trials of {SIZE} normal numbers: NumPy {1e3 * bare:.2f} ms; on a stream of the library {same / bare:.2f} times")
    for name in ("bench.block", "bench.one"):
        print(f"  {name}: {seconds(lambda: attnlab.check(name)) / bare:.2f} times NumPy")


if __name__ == "__main__":
    main()
