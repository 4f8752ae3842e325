"""Holds the heads of a BERT to the claims of the room `memory`: docs/real-networks.md, "Are their heads memories?".

    attnlab inspect NETWORK --text TEXT --tokens 512 --record inputs --out OUT
    python3 experiments/heads_as_memories.py NETWORK OUT/record [--centre]

Needs NumPy. ATTNLAB is the program (default attnlab). Keys and queries are those of the first window; with --centre
the mean is taken off the keys of a head, which leaves its softmax as it is.
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

import numpy as np


def tensors(path):
    """The matrices and vectors of a safetensors file of float32."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            yield name, np.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"]).astype(float)


def main(network, record, centre):
    network, record = pathlib.Path(network), pathlib.Path(record)
    heads = json.loads((network / "config.json").read_text())["num_attention_heads"]
    maps = {}
    for name, values in tensors(network / "model.safetensors"):
        found = re.search(r"layer\.(\d+)\.attention\.self\.(query|key)\.(weight|bias)", name)
        if found:
            maps[int(found[1]), found[2], found[3]] = values
    counts, lists = defaultdict(Counter), defaultdict(list)
    for block in range(1 + max(block for block, *_ in maps)):
        inputs = np.load(record / f"inputs.block-{block + 1}.window-0.npy").astype(float)
        every = [
            np.split(maps[block, part, "weight"] @ inputs + maps[block, part, "bias"][:, None], heads)
            for part in ("key", "query")
        ]
        for keys, queries in zip(*every):
            keys = keys - keys.mean(1, keepdims=True) if centre else keys
            measure(keys, queries, counts, lists)
    for claim, counted in counts.items():
        print(claim, dict(counted))
    for name, values in lists.items():
        values = np.concatenate(values).astype(float)
        quantiles = ", ".join(f"{x:.3g}" for x in np.quantile(values, [0, 0.1, 0.5, 0.9, 1]))
        print(f"{name}: mean {values.mean():.4g}, sum {values.sum():.6g}, 0 10 50 90 100 %: {quantiles}")


def measure(keys, queries, counts, lists):
    """Judges the claims on keys (d, N) and queries (d, Q) of a head, and adds its statistics."""
    (d, n), beta = keys.shape, 1 / np.sqrt(len(keys))
    with tempfile.TemporaryDirectory() as folder:
        arrays = []
        for name, values in (("patterns", keys), ("queries", queries)):
            np.save(f"{folder}/{name}.npy", values)
            arrays += ["--array", f"{name}={folder}/{name}.npy"]
        command = [os.environ.get("ATTNLAB", "attnlab"), "check", "memory.*", *arrays, "--set", f"beta={beta}", "--json"]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            found = json.loads(line)
            counts[found["claim"]].update({"holds": found["holds"], "fails": found["fails"]})
            counts[found["claim"]].update(found["silent"] | found["failed"])
    products = keys.T @ keys
    squares, longest = np.diag(products).copy(), np.sqrt(np.diag(products).max())
    np.fill_diagonal(products, -np.inf)
    separations = squares - products.max(1)
    distances = np.sqrt(((queries[:, :, None] - keys[:, None, :]) ** 2).sum(0))
    asked = 2 / (beta * n) + np.log(2 * (n - 1) * n * beta * longest**2) / beta
    scores = beta * queries.T @ keys
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights = -np.sort(-weights / weights.sum(1, keepdims=True), 1)
    lists["exponent of Theorem 5"].append(beta * (separations - 2 * longest * distances).max(1))
    lists["keys with a positive separation"].append(separations > 0)
    lists["keys that are separated as asked"].append(separations >= asked)
    lists["queries in a sphere"].append((distances <= 1 / (beta * n * longest)).any(1))
    lists["distance to the nearest key over M"].append(distances.min(1) / longest)
    lists["keys with 90 % of the weight"].append((np.cumsum(weights, 1) < 0.9).sum(1) + 1)
    lists["queries with a weight above .9"].append(weights[:, 0] > 0.9)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--centre"]
    if len(words) != 2:
        sys.exit(__doc__)
    main(*words, "--centre" in sys.argv)
