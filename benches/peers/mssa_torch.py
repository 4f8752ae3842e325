"""Times the attention of one MSSA layer in PyTorch on the CPU; prints one line of JSON.

All heads Y (K, p, N) in float32: softmax naive, softmax through scaled_dot_product_attention with
scale 1, and the thresholded softmax naive. Heads are one batch, or one after another (`--loop`, less
memory); the driver run.sh takes the faster for every variant.
"""

import argparse
import json
import time

import torch


def attend(y, variant, tau):
    """The layer's update of heads y (.., N, p): tokens are rows here, as torch likes them."""
    if variant == "sdpa":
        heads = y.unsqueeze(0)
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, scale=1.0)
    weights = torch.softmax(y @ y.transpose(-1, -2), dim=-1)
    if variant == "thresholded":
        weights = torch.where(weights > tau, tau, 0.0)
    return weights @ y


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tau", type=float, default=0.55)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    # The mixture of the Rust side: head k has unit normals in its own cluster and delta elsewhere.
    n, p, k = args.tokens, args.dim, args.heads
    delta = (torch.log(torch.tensor(float(n))) / p).sqrt() / 8
    y = torch.randn(k, n, p) * delta
    for head in range(k):
        own = slice(head * n // k, (head + 1) * n // k)
        y[head, own] /= delta
    seconds = {}
    with torch.inference_mode():
        for round_ in range(args.rounds + 1):  # the first warms up
            for name in ("naive", "sdpa", "thresholded"):
                for loop in (False, True):
                    start = time.perf_counter()
                    if loop:
                        for head in y:
                            attend(head.unsqueeze(0), name, args.tau)
                    else:
                        attend(y, name, args.tau)
                    took = time.perf_counter() - start
                    if round_ > 0:
                        key = f"{name} by head" if loop else name
                        seconds.setdefault(key, []).append(took)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), **seconds}))


if __name__ == "__main__":
    main()
