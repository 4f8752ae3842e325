"""Ratio of the times of `forward.sh`, ours over PyTorch's, formed within every turn, and the two losses."""

import json
import statistics
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    lines = [json.loads(line) for line in file if line.startswith("{")]
ours = [x for x in lines if x["peer"] == "attnlab"]
theirs = [x for x in lines if x["peer"] == "torch"]
ratios = sorted(statistics.median(a["seconds"]) / statistics.median(b["seconds"]) for a, b in zip(ours, theirs))
print(f"time, ours / PyTorch: {statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}] of {len(ratios)} turns")
print(f"loss: ours {ours[0]['loss']:.6f}, PyTorch {theirs[0]['loss']:.6f} nats per token")
print(f"all recordings: {ours[0]['recorded_bytes'] / 1e9:.2f} GB in {ours[0]['recorded_seconds']:.1f} s")
