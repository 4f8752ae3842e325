"""Wrong input: ValueError with the library's message, and nothing else happens."""

import numpy as np
import pytest

import attnlab


def refused(call, *parts, kind=ValueError):
    with pytest.raises(kind) as found:
        call()
    assert type(found.value) is kind
    for part in parts:
        assert part in str(found.value), str(found.value)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: attnlab.check("aot.theorem"), "unknown claim 'aot.theorem'; did you mean aot.theorem1"),
        (lambda: attnlab.check("aot.lemma1", delt=0.1), "unknown parameter 'delt'; did you mean delta?"),
        (lambda: attnlab.check("aot.lemma1", delta=-1.0), "delta = -1.0: must be"),
        (lambda: attnlab.check("aot.lemma1", delta=float("nan")), "NaN"),
        (lambda: attnlab.check("aot.lemma1", dim=2.5), "dim = 2.5: must be a whole number"),
        (lambda: attnlab.check("aot.lemma1", dim=2**70), "dim = "),
        (lambda: attnlab.check("aot.lemma1", dim=object()), "dim = "),
        (lambda: attnlab.check("aot.lemma1", trials=0), "trials = 0: must be a whole number >= 1"),
        (lambda: attnlab.check("aot.lemma1", trials=True), "trials = True: must be a whole number"),
        (lambda: attnlab.check("aot.lemma1", seed=-1), "seed = -1: must be a whole number >= 0"),
        (lambda: attnlab.check("aot.lemma1", level=2), "level"),
        (lambda: attnlab.on_arrays("aot.lemma1", {"tokens": np.eye(2)}), "must be a claim about a layer"),
        (lambda: attnlab.on_arrays("memory.theorem1", {"patterns": np.eye(2)}), "queries = 0 arrays"),
        (lambda: attnlab.on_arrays("memory.theorem1", {"pattern": np.eye(2)}), "unknown array 'pattern'"),
        (lambda: attnlab.on_arrays("memory.theorem1", {"patterns": np.eye(2), "queries": np.eye(3)}), "as patterns has 2 rows"),
        (lambda: attnlab.on_arrays("memory.theorem1", {"patterns": np.eye(2), "queries": np.eye(2)}, N=2), "takes its place"),
        (lambda: attnlab.on_arrays("memory.theorem1", {"patterns": [[1.0]], "queries": np.eye(2)}), "must be a NumPy array"),
        (lambda: attnlab.eval("aot.min_token", clusters=2), "unknown formula 'aot.min_token'"),
        (lambda: attnlab.eval("aot.min_tokens"), "clusters is required: add clusters=<a whole number"),
        (lambda: attnlab.list("nothing"), "unknown"),
        (lambda: attnlab.glossary("nothing"), "unknown name or word 'nothing'"),
        (lambda: attnlab.sample(7, clusters=2, dim=2), "tokens"),
        (lambda: attnlab.sample(8, dim=2, relation="near"), "relation = 'near'"),
        (lambda: attnlab.sample(8, dim=2, coherence=0.5), "coherence"),
        (lambda: attnlab.sample(8, dim=2, depth=3), "depth: must come with claim="),
        (lambda: attnlab.horizon(100, dim=10, tau=2.0), "tau = 2: must be a number in (0, 1]"),
        (lambda: attnlab.horizon(100, dim=10, bases=[]), "must be an array"),
        (lambda: attnlab.sweep({"claim": "aot.lemma1", "trial": 3}), "unknown key 'trial'"),
        (lambda: attnlab.sweep({"claim": "aot.lemma1", "axes": {"x": [1]}}), "unknown parameter 'x'"),
        (lambda: attnlab.sweep({}), "claim = (not set)"),
        (lambda: attnlab.sweep({"claim": "aot.lemma1"}, shard="4/4"), "shard = 4/4"),
        (lambda: attnlab.rows("."), "it has no run.json"),
        (lambda: attnlab.figure("."), "it has no run.json"),
        (lambda: attnlab.figure("snr_per_layer"), "Run it first"),
        (lambda: attnlab.run("snr_per_laye"), "unknown experiment"),
        (lambda: attnlab.run("snr_per_layer", dept=3), "dept"),
        (lambda: attnlab.report("."), "no run.json there or below"),
    ],
)
def test_messages(call, message):
    refused(call, message)


def test_files_that_are_missing():
    refused(lambda: attnlab.sweep("map.toml"), "map.toml", kind=OSError)


def test_arrays(draw):
    z, bases, labels, _ = draw

    def unroll(z=z, bases=bases, labels=labels, **more):
        return lambda: attnlab.unroll(z, bases, labels, layers=1, **more)

    wrong = z.copy()
    wrong[3, 5] = np.nan
    refused(unroll(z=wrong), "tokens[3, 5] = NaN: must be a finite number")
    wrong[3, 5] = -np.inf
    refused(unroll(z=wrong), "tokens[3, 5] = -inf")
    refused(unroll(z=z[0]), "tokens has shape (120,), expected two dimensions")
    refused(unroll(z=z[None]), "tokens has shape (1, 20, 120)")
    refused(unroll(z=z[:, :0]), "tokens has shape (20, 0)")
    refused(unroll(z=z.tolist()), "type of tokens", "must be a NumPy array")
    for other in (z.astype(int), z.astype(complex), z.astype(object), z.astype(">f8"), z.astype("f2")):
        refused(unroll(z=other), "type of tokens", "float64", "astype")
    # (N, d) in place of (d, N).
    refused(unroll(z=z.T), "bases[0] has shape (20, 10), expected (d, p) with d = 120")
    refused(unroll(bases=[u.T for u in bases]), "bases[0] has shape")
    refused(unroll(bases=[u * 1.01 for u in bases]), "must be at most 1e-5", "numpy.linalg.qr")
    refused(unroll(bases=[*bases, bases[0]]), "columns of the bases = 30")
    refused(unroll(bases=3), "bases = 3: must be a list")
    refused(unroll(labels=labels[:-1]), "labels has shape (119,), expected (120,), one label per token")
    refused(unroll(labels=labels[:, None]), "labels has shape (120, 1)")
    refused(unroll(labels=labels + 1), "must be a whole number from 0 to 1, one per basis")
    refused(unroll(labels=labels - 1), "labels[0] = -1")
    refused(unroll(labels=labels.astype(float)), "type of labels", "astype('int64')")
    refused(unroll(phi="softmx"), "unknown phi 'softmx'; did you mean softmax")
    refused(unroll(mask="future"), "mask = future: must be none or causal")
    refused(unroll(precision="f16"), "precision = f16: must be f32 or f64")
    refused(unroll(eta=0.0), "eta = 0: must be a finite number > 0")
    refused(lambda: attnlab.unroll(z, bases, labels, layers=0), "layers = 0")
    refused(lambda: attnlab.unroll(z, bases, labels, layers=10_000, eta=1e3), "exceed 1e90", kind=ArithmeticError)
    refused(lambda: attnlab.horizon(z), "bases and labels")
    refused(lambda: attnlab.inspect(z, labels=labels), "bases = None", "come together")
    refused(lambda: attnlab.inspect(z, scale="any"), "scale = 'any'")
    refused(lambda: attnlab.inspect(z, tokens_are="both"), "tokens_are = both")


def test_single_precision_is_widened(draw):
    z, bases, labels, _ = draw
    same = attnlab.unroll(z.astype(np.float32), bases, labels, layers=1)
    wide = attnlab.unroll(z.astype(np.float32).astype(float), bases, labels, layers=1)
    assert np.array_equal(same.tokens, wide.tokens)


def test_oddities_are_told(draw):
    found = attnlab.unroll(draw.z, draw.bases, np.zeros(120, int), layers=1)
    assert found.warnings == ["no token has the label 1: its SNR is undefined"]


def test_a_verdict_names_what_it_has():
    found = attnlab.check("aot.lemma1", trials=10)
    with pytest.raises(AttributeError, match="a verdict has no estimates; it has"):
        found.estimates


def test_options_of_the_command_line_are_arguments(tmp_path):
    attnlab.sweep({"claim": "aot.lemma1", "trials": 3}, out=tmp_path, progress=False)
    refused(
        lambda: attnlab.sweep({"claim": "aot.lemma1", "trials": 3, "seed": 1}, out=tmp_path, progress=False),
        "Choose another folder with out=, or write force=True to delete those rows",
    )
