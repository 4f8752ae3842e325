"""Times the attention of one MSSA layer in PyTorch on the GPU; prints one line of JSON.

All heads Y (K, N, p) on the card: softmax through scaled_dot_product_attention with scale 1 in
float32 (with and without TF32 products) and in bfloat16, and the thresholded softmax, naive, where its
N x N matrices fit. Each is warmed up once; a size that a variant cannot run is left out.
"""

import argparse
import json
import time

import torch


def naive(y, tau):
    """One head after the other: two N x N matrices at a time."""
    for head in y:
        weights = torch.softmax(head @ head.T, dim=-1)
        torch.where(weights > tau, tau, 0.0) @ head


def sdpa(y):
    heads = y.unsqueeze(0)
    return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, scale=1.0)


def product(y):
    """The plain product that the rate of a card is measured by: N²p multiply-adds per head."""
    for head in y:
        for block in head.split(8192):
            block @ head.T


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tau", type=float, default=0.55)
    args = parser.parse_args()
    torch.manual_seed(1)
    n, p, k = args.tokens, args.dim, args.heads
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # The mixture of the Rust side: head k has unit normals in its own cluster and delta elsewhere.
    delta = (torch.log(torch.tensor(float(n))) / p).sqrt().item() / 8
    y = torch.randn(k, n, p, device=device) * delta
    for head in range(k):
        y[head, head * n // k : (head + 1) * n // k] /= delta
    half = y.to(torch.bfloat16)

    def with_tf32(allowed, run):
        def both():
            torch.backends.cuda.matmul.allow_tf32 = allowed
            run()

        return both

    contenders = {
        "sdpa": with_tf32(False, lambda: sdpa(y)),
        "sdpa tf32": with_tf32(True, lambda: sdpa(y)),
        "sdpa bf16": with_tf32(True, lambda: sdpa(half)),
        "thresholded": with_tf32(False, lambda: naive(y, args.tau)),
        "product": with_tf32(False, lambda: product(y)),
    }
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    seconds, missing = {}, {}
    with torch.inference_mode():
        for round_ in range(args.rounds + 1):  # the first warms up
            for name, run in contenders.items():
                if name in missing:
                    continue
                try:
                    wait()
                    start = time.perf_counter()
                    run()
                    wait()
                    took = time.perf_counter() - start
                except RuntimeError as error:  # out of memory, or no kernel for this size
                    missing[name] = str(error).splitlines()[0]
                    seconds.pop(name, None)
                    continue
                if round_ > 0:
                    seconds.setdefault(name, []).append(took)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    print(json.dumps({"torch": torch.__version__, "device": name, "seconds": seconds, "missing": missing}))


if __name__ == "__main__":
    main()
