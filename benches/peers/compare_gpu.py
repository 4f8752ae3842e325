"""Reads the JSON lines that gpu.sh gathers (ours and theirs in turn) and prints the ratios."""

import json
import statistics
import sys


def main():
    lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    pairs = list(zip(lines[::2], lines[1::2]))
    ours, torch = pairs[0]
    n, p, k = ours["tokens"], ours["dim"], ours["heads"]
    print(f"N = {n}, p = {p}, K = {k}")
    print(f"ours on {ours['device']} ({ours['driver']}); torch {torch['torch']} on {torch['device']}")
    # Ours computes half of the product: S is symmetric.
    for name, line, flops in (("ours", ours["product"], n * n * p * k), ("torch", torch["seconds"].get("product"), 2 * n * n * p * k)):
        if line:
            print(f"  plain float32 product, {name}: {flops / min(line) / 1e12:.2f} TFLOP/s at best")
    print(f"ratio of times over {len(pairs)} turns: median [least, most]; above 1 we are ahead")
    for label, theirs, own in (
        ("softmax, sdpa float32", "sdpa", "softmax"),
        ("softmax, sdpa float32 with tf32 products", "sdpa tf32", "softmax"),
        ("softmax, sdpa bfloat16 (less precise)", "sdpa bf16", "softmax"),
        ("thresholded, naive float32", "thresholded", "thresholded"),
    ):
        values = [
            statistics.median(t["seconds"][theirs]) / statistics.median(o[own])
            for o, t in pairs
            if theirs in t["seconds"]
        ]
        if values:
            print(f"  {label:<42} {statistics.median(values):6.2f}  [{min(values):.2f}, {max(values):.2f}]")
        else:
            print(f"  {label:<42} does not run: {torch['missing'].get(theirs, '?')}")
    times = {key: round(statistics.median(ours[key]), 4) for key in ("softmax", "thresholded", "product")}
    print(f"  first turn, seconds, ours: {times}")
    print(f"  first turn, seconds, torch: { {key: round(statistics.median(v), 4) for key, v in torch['seconds'].items()} }")


if __name__ == "__main__":
    main()
