"""Reads the JSON lines that run.sh gathers (ours and theirs in turn) and prints the ratios."""

import json
import statistics
import sys


def main():
    lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    pairs = list(zip(lines[::2], lines[1::2]))
    ours_first, torch_first = pairs[0]
    print(f"threads: ours {ours_first['threads']}, torch {torch_first['threads']}; torch {torch_first['torch']}")

    def best(line, *names):
        return min(statistics.median(line[n]) for name in names for n in (name, f"{name} by head"))

    rows = [
        ("torch softmax, naive / ours", lambda o, t: best(t, "naive") / statistics.median(o["softmax"])),
        ("torch softmax, sdpa / ours", lambda o, t: best(t, "sdpa") / statistics.median(o["softmax"])),
        ("torch softmax, better of the two / ours", lambda o, t: best(t, "naive", "sdpa") / statistics.median(o["softmax"])),
        ("torch thresholded, naive / ours", lambda o, t: best(t, "thresholded") / statistics.median(o["thresholded"])),
    ]
    print(f"ratio of times over {len(pairs)} turns: median [least, most]; above 1 we are ahead")
    for name, ratio in rows:
        values = [ratio(o, t) for o, t in pairs]
        print(f"  {name:<42} {statistics.median(values):6.2f}  [{min(values):.2f}, {max(values):.2f}]")
    for name, line in (("ours", ours_first), ("torch", torch_first)):
        times = {k: round(statistics.median(v), 3) for k, v in line.items() if isinstance(v, list)}
        print(f"  first turn, seconds, {name}: {times}")


if __name__ == "__main__":
    main()
