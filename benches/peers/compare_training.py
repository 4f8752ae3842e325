"""Reads the JSON lines that training.sh gathers (ours and theirs in turn) and prints the ratios."""

import json
import statistics
import sys


def seconds(line, names):
    return sum(statistics.median(line["cases"][name]["seconds"]) for name in names)


def main():
    lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    pairs = list(zip(lines[::2], lines[1::2]))
    ours, torch = pairs[0]
    print(f"threads: ours {ours['threads']}, torch {torch['threads']}; torch {torch['torch']}")
    linear = [name for name in ours["cases"] if name.endswith("linear")]
    softmax = [name for name in ours["cases"] if name.endswith("softmax")]
    moments = [f"{name}-moments" for name in linear]
    rows = [(name, [name], [name]) for name in ours["cases"]]
    rows += [(f"{name}, moments given to torch", [name], [f"{name}-moments"]) for name in linear]
    rows += [("all six cases", linear + softmax, linear + softmax)]
    rows += [("all six cases, moments given to torch", linear + softmax, moments + softmax)]
    print(f"ratio of times over {len(pairs)} turns: median [least, most]; above 1 we are ahead")
    for label, own, theirs in rows:
        values = [seconds(t, theirs) / seconds(o, own) for o, t in pairs]
        took = f"{seconds(ours, own):8.3f} s against {seconds(torch, theirs):8.3f} s"
        middle = statistics.median(values)
        print(f"  {label:<42} {middle:7.1f}  [{min(values):.1f}, {max(values):.1f}]   first turn {took}")
    worst = 0.0
    for name, case in ours["cases"].items():
        for a, b in zip(case["losses"], torch["cases"][name]["losses"]):
            worst = max(worst, *(abs(x - y) / y for x, y in zip(a, b)))
    print(f"same work: the final training and test losses differ by at most {worst:.1e}, relative")


if __name__ == "__main__":
    main()
