"""Times forward passes and training steps of the papers' networks in PyTorch; prints a line of JSON.

The network is that of the Rust side: MSSA in its trained form (queries = keys = values = one
projection, queries of unit length, scale 1, an output projection), LayerNorm before each layer, GPT-2's
positions. `eager`, and `compiled` through torch.compile where it works. A step is loss, gradient,
clip_grad_norm_ and Adam, and ends with the loss and the norm on the host. On a card PyTorch runs with
and without TF32 products.
"""

import argparse
import json
import time

import torch
import torch.nn.functional as F

NETWORKS = {
    "icl-aot-mssa": dict(layers=32, width=128, heads=8, dim=20, context=202, bias=True),
    "aot-mssa-l-base": dict(layers=24, width=1024, heads=16, vocabulary=50304, context=1024, bias=False),
}


class Block(torch.nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width, bias=bias)
        self.u = torch.nn.Linear(width, width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=bias)

    def forward(self, x):
        batch, n, width = x.shape
        y = self.u(self.norm(x)).view(batch, n, self.heads, -1).transpose(1, 2)
        z = F.scaled_dot_product_attention(F.normalize(y, dim=-1), y, y, is_causal=True, scale=1.0)
        return x + self.out(z.transpose(1, 2).reshape(batch, n, width))


class Network(torch.nn.Module):
    def __init__(self, layers, width, heads, context, bias, dim=None, vocabulary=None):
        super().__init__()
        self.embed = torch.nn.Linear(dim, width) if dim else torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks = torch.nn.ModuleList(Block(width, heads, bias) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width, bias=bias)
        self.read_out = torch.nn.Linear(width, 1) if dim else None

    def forward(self, x, target):
        x = self.embed(x)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if self.read_out is not None:
            return (self.read_out(x)[:, ::2, 0] - target).square().mean()
        return F.cross_entropy((x @ self.embed.weight.T).flatten(0, 1), target.flatten())


def data(size, batch, device):
    if "dim" in size:
        x, w = torch.randn(batch, 41, size["dim"]), torch.randn(batch, size["dim"], 1)
        y = (x @ w)[..., 0]
        tokens = torch.zeros(batch, 82, size["dim"])
        tokens[:, ::2], tokens[:, 1::2, 0] = x, y
        return tokens.to(device), y.to(device)
    tokens = torch.randint(size["vocabulary"], (batch, size["context"] + 1), device=device)
    return tokens[:, :-1], tokens[:, 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="icl-aot-mssa", choices=NETWORKS)
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="cpu", choices=("cpu", "gpu"))
    args = parser.parse_args()
    size = NETWORKS[args.network]
    if args.layers:
        size["layers"] = args.layers
    device = "cuda" if args.backend == "gpu" else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    torch.manual_seed(1)
    eager = Network(**size).to(device)
    adam = torch.optim.Adam(eager.parameters(), lr=1e-4)
    forms = {"eager": eager, "compiled": torch.compile(eager)}

    def forward(network):
        with torch.inference_mode():
            network(*data(size, args.batch, device)).item()

    def step(network):
        adam.zero_grad()
        loss = network(*data(size, args.batch, device))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(eager.parameters(), 10.0)
        adam.step()
        return loss.item(), norm.item()

    seconds, missing = {}, {}
    for round_ in range(args.rounds + 1):  # the first warms up, and compiles
        for tf32 in (False, True) if device == "cuda" else (False,):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            for form, network in forms.items():
                for what, run in (("forward", forward), ("step", step)):
                    name = f"{form} {what}" + (" tf32" if tf32 else "")
                    if name in missing:
                        continue
                    try:
                        wait()
                        start = time.perf_counter()
                        for _ in range(args.steps):
                            run(network)
                        wait()
                        took = (time.perf_counter() - start) / args.steps
                    except Exception as error:  # no compiler here, or out of memory
                        missing[name] = (str(error).splitlines() or ["?"])[0]
                        seconds.pop(name, None)
                        continue
                    if round_ > 0:
                        seconds.setdefault(name, []).append(took)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    line = {"torch": torch.__version__, "device": name, "threads": torch.get_num_threads()}
    print(json.dumps(line | {"seconds": seconds, "missing": missing}))


if __name__ == "__main__":
    main()
