"""Values of the package are those of the command line."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import attnlab

CHECKS = [
    ("aot.mssa_is_mhsa", {"trials": 5}),
    ("aot.lemma1", {"trials": 200, "seed": 7, "delta": 0.3}),
    ("aot.theorem1", {"trials": 6, "tokens": 400, "dim": 80, "layers": 12}),
    ("aot.theorem1", {"trials": 6, "tokens": 400, "dim": 80, "layers": 12, "beyond_hypotheses": True}),
    ("denoise.prop2_loss", {"level": 0.9}),
    ("joma.superposition", {}),
]
#: Not the same in two runs.
CLOCKS = ("wall_s", "gflops")


def without_clocks(found):
    return {name: value for name, value in found.items() if name not in CLOCKS}


def words(options):
    """The options as the command line takes them."""
    own = []
    for name, value in options.items():
        if name in ("trials", "seed", "level"):
            own += [f"--{name}", str(value)]
        elif name == "beyond_hypotheses":
            own.append("--beyond-hypotheses")
        else:
            own += ["--set", f"{name}={json.dumps(value)}"]
    return own


@pytest.mark.parametrize("name, options", CHECKS)
def test_check(command, name, options):
    found = attnlab.check(name, **options)
    as_expected = 0 if found.as_expected else 1
    [line] = command("check", name, *words(options), "--json", status=as_expected)
    assert without_clocks(found.to_dict()) == without_clocks(line)


def test_mutants(command):
    found = attnlab.check("aot.lemma1", mutants=True, mutant_seeds=2)
    _, *lines = command("check", "aot.lemma1", "--mutants", "--mutant-seeds", "2", "--json")
    assert len(found.mutants) == len(lines) > 0
    for own, line in zip(found.mutants, lines):
        assert own.pop("says")
        assert without_clocks(own) == without_clocks(line)


@pytest.mark.parametrize("what", ["claims", "formulas", "experiments", "papers", "aot.lemma2*"])
def test_list(command, what):
    assert attnlab.list(what) == command("list", what, "--json")


@pytest.mark.parametrize("name", ["aot.theorem1", "aot.min_tokens", "snr_per_layer"])
def test_show(command, name):
    assert attnlab.show(name) == command("show", name, "--json")[0]


@pytest.mark.parametrize("word", [None, "tokens", "refuted"])
def test_glossary(command, word):
    assert attnlab.glossary(word) == command("glossary", *([word] if word else []), "--json")[0]


def test_eval(command):
    numbers = {"tokens": 2000, "clusters": 2, "dim": 900, "delta": 0.0115, "eta": 0.5, "tau": 0.55, "probability": 0.5}
    for name, params in [("aot.min_tokens", {"clusters": 2}), ("aot.horizon_layers", numbers)]:
        [line] = command("eval", name, *words({n: v for n, v in params.items()}), "--json")
        assert attnlab.eval(name, **params) == line["value"]


def test_eval_gives_arrays():
    """Every formula with a vector for its value, at its defaults."""
    shapes = []
    for entry in attnlab.list("formulas"):
        try:
            shapes.append(np.shape(attnlab.eval(entry["id"])))
        except (ValueError, ArithmeticError):
            pass  # It needs parameters.
    assert any(shapes)


def test_eval_broadcasts():
    deltas, taus = np.array([0.01, 0.0115]), np.array([[0.5], [0.55], [0.6]])
    rest = {"tokens": 2000, "clusters": 2, "dim": 900, "eta": 0.5, "probability": 0.5}
    found = attnlab.eval("aot.horizon_layers", delta=deltas, tau=taus, **rest)
    one = [[attnlab.eval("aot.horizon_layers", delta=d, tau=t[0], **rest) for d in deltas] for t in taus]
    assert np.array_equal(found, one)
    # A parameter that is an array itself is one parameter.
    x = np.array([1.0, 2.0])
    assert np.ndim(attnlab.eval("denoise.anisotropic_mmse", variances=x, **_scalars("denoise.anisotropic_mmse"))) == 0


def _scalars(name):
    """A value for every required parameter that is no array."""
    needed = [p for p in attnlab.show(name)["parameters"] if p["required"] and "array" not in p["allowed"]]
    return {p["name"]: 1 for p in needed}


def test_parameters_may_be_numpy():
    plain = attnlab.check("aot.lemma1", trials=50, dim=32, delta=0.25)
    same = attnlab.check("aot.lemma1", trials=np.int32(50), dim=np.int64(32), delta=np.float32(0.25))
    assert without_clocks(plain) == without_clocks(same)


def test_sample_and_files(command, tmp_path, draw):
    command("sample", "--tokens", 120, "--clusters", 2, "--dim", 10, "--delta", 0.05, "--seed", 1, "--out", tmp_path)
    assert np.array_equal(draw.z, np.load(tmp_path / "z.npy"))
    assert np.array_equal(draw.labels, np.load(tmp_path / "y.npy"))
    for k, u in enumerate(draw.bases):
        assert np.array_equal(u, np.load(tmp_path / f"u{k}.npy"))
    assert draw.origin == json.loads((tmp_path / "draw.json").read_text())


def test_sample_of_a_trial(command, tmp_path):
    found = attnlab.sample(claim="aot.theorem1", tokens=60, dim=8, trial=3)
    command(
        "sample", "--claim", "aot.theorem1", "--set", "tokens=60", "--set", "dim=8", "--trial", 3, "--out", tmp_path
    )
    assert np.array_equal(found.z, np.load(tmp_path / "z.npy"))


def files(draw, tmp_path):
    """The draw as files for the command line."""
    np.save(tmp_path / "z.npy", draw.z)
    np.save(tmp_path / "y.npy", draw.labels)
    for k, u in enumerate(draw.bases):
        np.save(tmp_path / f"u{k}.npy", u)
    return ["--bases", tmp_path / "u0.npy", tmp_path / "u1.npy", "--labels", tmp_path / "y.npy"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"phi": "thresholded-softmax", "tau": 0.6, "layers": 4},
        {"phi": "hardmax", "mask": "causal", "normalise_queries": True, "layers": 2},
        {"precision": "f32", "layers": 3},
    ],
)
def test_unroll(command, tmp_path, draw, options):
    rest = files(draw, tmp_path)
    for name, value in options.items():
        rest += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    last = tmp_path / "last.npy"
    lines = command("unroll", "--tokens", tmp_path / "z.npy", *rest, "--json", "--save-tokens", last)
    found = attnlab.unroll(draw.z, draw.bases, draw.labels, **options)
    assert found.layers == lines
    assert np.array_equal(found.tokens, np.load(last))


def test_unroll_in_any_order_of_memory(draw):
    z, bases, labels, _ = draw
    plain = attnlab.unroll(z, bases, labels, layers=2)
    strided = np.zeros((40, 240))
    strided[::2, ::2] = z
    for other in [np.asfortranarray(z), np.ascontiguousarray(z), strided[::2, ::2], z[:, ::-1][:, ::-1]]:
        found = attnlab.unroll(other, bases, labels.astype(np.uint8), layers=2)
        assert np.allclose(found.snr, plain.snr, rtol=1e-12)
    before = z.copy()
    attnlab.unroll(z, bases, labels, layers=1)
    assert np.array_equal(z, before)


class Foreign:
    """An array of another library, which NumPy reads by DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **how):
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_other_libraries(draw):
    z, bases, labels, _ = draw
    plain = attnlab.unroll(z, bases, labels, layers=2)
    foreign = [Foreign(u) for u in bases]
    for z_, labels_ in [(Foreign(z), Foreign(labels)), (memoryview(z), memoryview(labels))]:
        found = attnlab.unroll(z_, foreign, labels_, layers=2)
        assert np.array_equal(found.snr, plain.snr) and np.array_equal(found.tokens, plain.tokens)
        assert attnlab.inspect(z_, controls=False) == attnlab.inspect(z, controls=False)
        found = attnlab.horizon(z_, bases=foreign, labels=labels_)
        assert without_clocks(found) == without_clocks(attnlab.horizon(z, bases=bases, labels=labels))


def test_tensors(draw):
    torch = pytest.importorskip("torch")
    found = attnlab.unroll(torch.from_numpy(draw.z), draw.bases, torch.from_numpy(draw.labels), layers=2)
    assert np.array_equal(found.tokens, attnlab.unroll(draw.z, draw.bases, draw.labels, layers=2).tokens)


def test_arrays_of_jax(draw):
    jnp = pytest.importorskip("jax").numpy
    # JAX has float32 and int32 unless it is told otherwise.
    z, bases, labels = draw.z.astype("f4"), [u.astype("f4") for u in draw.bases], draw.labels.astype("i4")
    found = attnlab.unroll(jnp.asarray(z), [jnp.asarray(u) for u in bases], jnp.asarray(labels), layers=2)
    assert np.array_equal(found.tokens, attnlab.unroll(z, bases, labels, layers=2).tokens)


def test_unroll_without_labels(draw):
    found = attnlab.unroll(draw.z, draw.bases, layers=2)
    assert found.snr is None
    assert np.array_equal(found.tokens, attnlab.unroll(draw.z, draw.bases, draw.labels, layers=2).tokens)


def test_horizon(command, tmp_path, draw):
    [line] = command("horizon", "--tokens", 1000, "--dim", 100, "--delta", 0.03, "--seed", 1, "--json")
    assert without_clocks(attnlab.horizon(1000, dim=100, delta=0.03, seed=1)) == without_clocks(line)
    rest = files(draw, tmp_path)
    [line] = command("horizon", "--tokens", tmp_path / "z.npy", *rest, "--json")
    found = attnlab.horizon(draw.z, bases=draw.bases, labels=draw.labels)
    assert without_clocks(found) == without_clocks(line)


@pytest.mark.parametrize("known", [False, True])
def test_inspect(command, tmp_path, draw, known):
    rest = files(draw, tmp_path)
    [line] = command(
        "inspect", "--activations", tmp_path / "z.npy", "--tokens-are", "columns", *(rest if known else []), "--json"
    )
    more = {"bases": draw.bases, "labels": draw.labels} if known else {}
    found = attnlab.inspect(draw.z, **more)
    numbers = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

    def plain(value):
        if isinstance(value, dict):
            return {n: plain(v) for n, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        return str(numbers.get(value, value)) if isinstance(value, (str, float)) else value

    line["data"].pop("hash")
    assert plain(found) == plain(line["data"])


def test_rows_of_tokens_are_taken(draw):
    assert attnlab.inspect(draw.z.T, tokens_are="rows", controls=False) == attnlab.inspect(draw.z, controls=False)


def test_the_command_of_the_package(command):
    assert command("list", "aot.theorem1", "--json")[0]["id"] == "aot.theorem1"


def test_a_verdict_is_pickled():
    found = attnlab.check("aot.lemma1", trials=20, seed=3, mutants=True, delta=0.2)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.to_dict() == found.to_dict() and again.mutants == found.mutants
    assert again._repr_html_() == found._repr_html_() and repr(again) == repr(found)
    assert attnlab.report(again, out="again.html").read_bytes() == attnlab.report(found, out="found.html").read_bytes()


def test_a_verdict_without_an_estimate_is_pickled():
    @attnlab.claim("mine.none", statement="$x$")
    def none(p, rng):
        return attnlab.uninformative("nothing to see", x=float("nan"))

    found = attnlab.check("mine.none", trials=3)
    assert found.verdict == "inconclusive" and found.estimate["value"] is None
    assert pickle.loads(pickle.dumps(found)) == found
    attnlab.forget("mine.none")


def test_names_of_python_stay():
    names: dict = {}
    exec("from attnlab import *", names)
    assert "check" in names and "list" not in names and "eval" not in names


def test_cards():
    found = attnlab.check("aot.lemma1", trials=50, mutants=True)
    card = found._repr_html_()
    for part in ("aot.lemma1", 'class="verdict', "<math", "Mutant", "Promise"):
        assert part in card, part
    assert "open" in card.split("<summary>")[0]
    assert "aot.lemma1" in repr(found) and "interval" in dir(found) and "estimate" in dir(found)
    assert attnlab.list("aot.lemma1*")._repr_html_().startswith("<table>")


def test_on_arrays(command):
    """Two patterns on a line: an update of s is tanh(beta s), and a claim is judged as on the command line."""
    x, q = np.array([[1.0, -1.0]]), np.array([[1.0, 0.2]])
    np.save("x.npy", x)
    np.save("q.npy", q)
    found = attnlab.on_arrays("memory.theorem5", {"patterns": x, "queries": q}, beta=2.0, mutants=True)
    arrays = ["--array", "patterns=x.npy", "--array", "queries=q.npy"]
    [line] = command("check", "memory.theorem5", *arrays, "--set", "beta=2", "--mutants", "--json")
    assert found == line
    assert found["verdict"] == "holds" and found["mutants"] == {"three-quarters": "fails"}
    assert found["closest"]["sides"].startswith(f"{1 - np.tanh(2):.6g} ")
    command("check", "memory.theorem5", *arrays, "--set", "beta=2", "--cases", "cases.jsonl")
    lines = [json.loads(line) for line in Path("cases.jsonl").read_text().splitlines()]
    every = attnlab.on_arrays("memory.theorem5", {"patterns": x, "queries": q}, beta=2.0, cases=True)["cases"]
    assert [{"claim": "memory.theorem5", **case} for case in every] == lines
    assert [(case["number"], case["says"]) for case in every] == [(0, "holds"), (1, "holds")]


def test_on_arrays_of_several_heads(command):
    rng = np.random.default_rng(0)
    z, bases = rng.normal(size=(6, 9)), rng.normal(size=(3, 6, 2))
    np.save("z.npy", z)
    np.save("u.npy", bases)
    found = attnlab.on_arrays("aot.mssa_is_mhsa", {"tokens": z, "bases": list(bases)}, phi="linear")
    arrays = ["--array", "tokens=z.npy", "--array", "bases=u.npy"]
    [line] = command("check", "aot.mssa_is_mhsa", *arrays, "--set", "phi=linear", "--json")
    assert found == line and found["verdict"] == "holds"
