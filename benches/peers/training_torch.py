"""Trains the six cases of the denoising paper's Figure 2 with PyTorch on data that
`cargo bench --bench training -- --export DIR` wrote, and prints seconds and final losses as JSON."""

import argparse
import json
import time

import numpy
import torch

EPOCHS = {"subspace": 100, "sphere": 200, "clusters": 200}
BATCH, RATE = 80, 0.01


class Layer(torch.nn.Module):
    def __init__(self, kq, pv, variant):
        super().__init__()
        self.kq, self.pv = torch.nn.Parameter(kq), torch.nn.Parameter(pv)
        self.variant = variant

    def forward(self, context, query):
        """context: (B, n, L), or (B, n, n) second moments; query: (B, n, 1)."""
        if self.variant == "softmax":
            weights = torch.softmax(context.transpose(1, 2) @ (self.kq @ query), dim=1)
            return (self.pv @ (context @ weights)).squeeze(2)
        moment = context
        if self.variant == "linear":
            moment = context @ context.transpose(1, 2) / context.shape[2]
        return (self.pv @ (moment @ (self.kq @ query))).squeeze(2)


def run(folder, case, variant, seed):
    attention = variant.split("-")[0]
    load = lambda name: torch.from_numpy(numpy.load(f"{folder}/{case}_{name}.npy"))
    x, y = {s: load(f"x_{s}") for s in ("train", "test")}, {s: load(f"y_{s}") for s in ("train", "test")}
    order, kq, pv = (load(f"{attention}_{seed}_{what}") for what in ("order", "kq", "pv"))
    start = time.perf_counter()
    context = {s: x[s][:, :, :-1].contiguous() for s in x}
    query = {s: x[s][:, :, -1:].contiguous() for s in x}
    if variant == "linear-moments":
        context = {s: c @ c.transpose(1, 2) / c.shape[2] for s, c in context.items()}
    layer = Layer(kq, pv, variant)
    criterion = torch.nn.MSELoss()
    optimiser = torch.optim.Adam(layer.parameters(), lr=RATE)
    epochs = order.shape[0]
    milestones = [int(0.8 * epochs), int(0.9 * epochs)]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, milestones, gamma=0.1)
    losses = {s: [] for s in x}
    for epoch in range(epochs):
        for which in order[epoch].split(BATCH):
            optimiser.zero_grad()
            found = layer(context["train"][which], query["train"][which])
            criterion(found, y["train"][which]).backward()
            optimiser.step()
        schedule.step()
        with torch.no_grad():
            for s in x:
                losses[s].append(criterion(layer(context[s], query[s]), y[s]).item())
    seconds = time.perf_counter() - start
    return seconds, [losses["train"][-1], losses["test"][-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    cases = {}
    for case in EPOCHS:
        for variant in ("linear", "linear-moments", "softmax"):
            found = [run(args.folder, case, variant, seed) for seed in range(args.seeds)]
            seconds = sum(s for s, _ in found)
            cases[f"{case} {variant}"] = {"seconds": [seconds], "losses": [l for _, l in found]}
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "cases": cases}))


if __name__ == "__main__":
    main()
