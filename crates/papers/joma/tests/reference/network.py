"""Loss and gradient of the two networks of crates/papers/joma/src/network, by JAX's automatic derivatives.

    pip install jax && python network.py

prints what tests/suite/network.rs holds the written-out derivatives to. All parameters, in the order of the
flat vector, are 0.3 sin(1.7 i + 0.2); gains of the normalisations have 1 added.
"""
import jax
import jax.numpy as np

jax.config.update("jax_enable_x64", True)


def sizes(M, d, h, blocks, outputs, projection):
    linear = lambda o, i, bias: [(o, i)] + ([(o, 1)] if bias else [])
    shapes = [("embedding", (d, M))]
    for b in range(blocks):
        for name in ["q", "k", "v"]:
            shapes += [(f"{b}.{name}{j}", s) for j, s in enumerate(linear(d, d, projection))]
        if projection:
            shapes += [(f"{b}.o{j}", s) for j, s in enumerate(linear(d, d, True))]
        shapes += [(f"{b}.gain1", (d, 1)), (f"{b}.shift1", (d, 1))]
        shapes += [(f"{b}.lower{j}", s) for j, s in enumerate(linear(h, d, True))]
        shapes += [(f"{b}.upper{j}", s) for j, s in enumerate(linear(d, h, True))]
        shapes += [(f"{b}.gain2", (d, 1)), (f"{b}.shift2", (d, 1))]
    return shapes + [(f"readout{j}", s) for j, s in enumerate(linear(outputs, d, True))]


def split(flat, shapes):
    found, at = {}, 0
    for name, (rows, columns) in shapes:
        # Column by column.
        found[name] = flat[at : at + rows * columns].reshape(columns, rows).T
        at += rows * columns
    return found, at


def norm(x, gain, shift):
    mean = x.mean(0, keepdims=True)
    variance = ((x - mean) ** 2).mean(0, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + shift


def states(p, tokens, d, blocks, projection, positions):
    x = p["embedding"][:, np.array(tokens)]
    n = len(tokens)
    if positions:
        place = np.arange(n)[None, :]
        k = (np.arange(d) // 2)[:, None]
        angle = place * 10000.0 ** (-2 * k / d)
        even = (np.arange(d) % 2 == 0)[:, None]
        x = np.sqrt(d) * x + np.where(even, np.sin(angle), np.cos(angle))
    for b in range(blocks):
        linear = lambda name, y: p[f"{b}.{name}0"] @ y + (p[f"{b}.{name}1"] if f"{b}.{name}1" in p else 0)
        q, k, v = linear("q", x), linear("k", x), linear("v", x)
        scores = k.T @ q / np.sqrt(d)
        scores = np.where(np.triu(np.ones((n, n))) > 0, scores, -np.inf)
        mixed = v @ jax.nn.softmax(scores, axis=0)
        if projection:
            mixed = linear("o", mixed)
        x = norm(x + mixed, p[f"{b}.gain1"], p[f"{b}.shift1"])
        u = jax.nn.relu(linear("lower", x))
        x = norm(x + linear("upper", u), p[f"{b}.gain2"], p[f"{b}.shift2"])
    return x


def run(title, M, d, h, blocks, outputs, projection, positions, sequences, targets):
    shapes = sizes(M, d, h, blocks, outputs, projection)
    count = sum(r * c for _, (r, c) in shapes)
    index = np.arange(count)
    start = 0.3 * np.sin(1.7 * index + 0.2)
    gains, at = np.zeros(count), 0
    for name, (r, c) in shapes:
        if "gain" in name:
            gains = gains.at[at : at + r * c].set(1.0)
        at += r * c

    def loss(flat):
        p, _ = split(flat, shapes)
        total = 0.0
        for tokens, wanted in zip(sequences, targets):
            x = states(p, tokens, d, blocks, projection, positions)
            score = jax.nn.log_softmax(p["readout0"] @ x + p["readout1"], axis=0)
            for column, (c, weight) in wanted.items():
                total -= weight * score[c, column]
        return total

    value, gradient = jax.value_and_grad(loss)(start + gains)
    print(title, count, repr(float(value)), repr(float(np.linalg.norm(gradient))),
          repr(float(gradient @ np.cos(index))))


# Padding is token 6; the first sequence begins with five of it, the second with two.
run("latents", 7, 6, 10, 3, 4, False, False,
    [[6, 6, 6, 6, 6, 0, 3, 5], [6, 6, 1, 2, 4]],
    [{7: (1, 0.25)}, {4: (3, 0.75)}])
run("text", 7, 6, 6, 2, 7, True, True,
    [[0, 3, 5, 1], [2, 2, 6, 4]],
    [{i: (c, 0.125) for i, c in enumerate([3, 5, 1, 0])}, {i: (c, 0.125) for i, c in enumerate([2, 6, 4, 1])}])
