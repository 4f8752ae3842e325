"""Times the velocity of tokens on a sphere in NumPy and PyTorch on the CPU; prints one line of JSON.

v_i = P_i sum_j w_ij x_j with w_i = softmax of beta <x_i, x_j>, in float64, with all scores at once, in blocks of rows, and
in PyTorch also through scaled_dot_product_attention. `compare FILE` reads the lines that particles.sh gathers (ours and
theirs in turn) and prints the ratios; the fastest variant of a library counts.
"""

import argparse
import json
import statistics
import sys
import time

import numpy as np
import torch

BETA = 9.0
BLOCK = 512


def tokens(n, d):
    """Tokens (n, d) that both sides can compute: coordinate c of token j is cos(sqrt(c + 2) (j + 1)), normalised."""
    x = np.cos(np.sqrt(np.arange(d) + 2.0) * (np.arange(n)[:, None] + 1.0))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def on_sphere(x, attention):
    return attention - (x * attention).sum(1)[:, None] * x


def numpy_attention(rows, x):
    # In place: nothing is gained by more copies of the scores.
    weights = (BETA * rows) @ x.T
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    return (weights @ x) / weights.sum(axis=1, keepdims=True)


def torch_attention(rows, x):
    return torch.softmax((BETA * rows) @ x.T, dim=1) @ x


def in_blocks(attention, join):
    return lambda x: on_sphere(x, join([attention(x[i : i + BLOCK], x) for i in range(0, len(x), BLOCK)]))


def at_once(attention):
    return lambda x: on_sphere(x, attention(x, x))


def sdpa(x):
    heads = x[None, None]
    return on_sphere(x, torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, scale=BETA)[0, 0])


def times(args):
    torch.set_num_threads(args.threads)
    x = tokens(args.tokens, args.dim)
    y = torch.from_numpy(x)
    variants = {
        "numpy, at once": (at_once(numpy_attention), x),
        "numpy, in blocks": (in_blocks(numpy_attention, np.concatenate), x),
        "torch, at once": (at_once(torch_attention), y),
        "torch, in blocks": (in_blocks(torch_attention, torch.cat), y),
        "torch, sdpa": (sdpa, y),
    }
    seconds, speeds = {}, {}
    with torch.inference_mode():
        for round_ in range(args.rounds + 1):  # the first warms up
            for name, (velocity, x) in variants.items():
                start = time.perf_counter()
                v = velocity(x)
                took = time.perf_counter() - start
                if round_ > 0:
                    seconds.setdefault(name, []).append(took)
                speeds[name] = float(((v * v).sum(1) ** 0.5).mean())
    versions = {"numpy": np.__version__, "torch": torch.__version__}
    print(json.dumps({**versions, "threads": args.threads, "seconds": seconds, "speeds": speeds}))


def compare(path):
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    pairs = list(zip(lines[::2], lines[1::2]))
    ours, theirs = pairs[0]
    print(f"{ours['threads']} threads, theirs {theirs['threads']}; numpy {theirs['numpy']}, torch {theirs['torch']}")
    gap = max(abs(speed / ours["speed"] - 1) for speed in theirs["speeds"].values())
    print(f"mean speed of a token {ours['speed']:.12g}; theirs differ by at most {gap:.1e} of it")
    print(f"ratio of times over {len(pairs)} turns: median [least, most]; above 1 we are ahead")
    for library in ("numpy", "torch"):
        best = [
            min(statistics.median(s) for name, s in t["seconds"].items() if name.startswith(library)) for _, t in pairs
        ]
        ratios = [b / statistics.median(o["velocity"]) for b, (o, _) in zip(best, pairs)]
        print(f"  {library:<6} / ours {statistics.median(ratios):6.2f}  [{min(ratios):.2f}, {max(ratios):.2f}]")
    first = {name: round(statistics.median(s), 3) for name, s in theirs["seconds"].items()}
    print(f"  first turn, seconds: ours {statistics.median(ours['velocity']):.3f}, {first}")


def main():
    if sys.argv[1:2] == ["compare"]:
        return compare(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    times(parser.parse_args())


if __name__ == "__main__":
    main()
