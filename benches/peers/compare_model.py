"""Reads the JSON lines that model.sh gathers (ours and theirs in turn) and prints the ratios."""

import json
import statistics
import sys


def main():
    lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    pairs = list(zip(lines[::2], lines[1::2]))
    ours, torch = pairs[0]
    print(f"{ours['network']}, {ours['layers']} layers, {ours['batch']} sequences, {ours['backend']}")
    print(f"torch {torch['torch']} on {torch['device']}")
    print(f"ratio of times over {len(pairs)} turns: median [least, most]; above 1 we are ahead")
    names = sorted({name for _, t in pairs for name in t["seconds"]})
    for name in names:
        own = "step" if "step" in name else "forward"
        values = [
            statistics.median(t["seconds"][name]) / statistics.median(o[own])
            for o, t in pairs
            if name in t["seconds"]
        ]
        print(f"  torch {name:<22} / ours {statistics.median(values):6.2f}  [{min(values):.2f}, {max(values):.2f}]")
    for name, problem in torch["missing"].items():
        print(f"  torch {name}: does not run here: {problem}")
    for name, times in (("ours", {k: ours[k] for k in ("forward", "step")}), ("torch", torch["seconds"])):
        print(f"  first turn, seconds, {name}: { {k: round(statistics.median(v), 4) for k, v in times.items()} }")


if __name__ == "__main__":
    main()
