"""Claims written in Python: streams, the twin of a Rust claim, hypotheses, promises, mutants, errors."""

import json

import numpy as np
import pytest

import attnlab
from attnlab import _attnlab

STATEMENT = "$P(H) = 1/2$."


@pytest.fixture
def claim():
    """Declares claims that are forgotten at the end."""
    ids = []

    def declare(id, **how):
        ids.append(id)
        return attnlab.claim(id, **{"statement": STATEMENT, **how})

    yield declare
    for id in ids:
        attnlab.forget(id)


def coin(p, rng):
    """A coin is fair

    As crates/lab/src/toy.rs tosses it: one word of the part "toss" below p 2^64."""
    heads = attnlab.part(rng, "toss").bit_generator.random_raw() < int(p.heads * 2**64)
    return attnlab.value(heads, heads=heads)


def twin(claim, **how):
    """The toy claim of the library, in Python."""
    heads = attnlab.real(
        0.5, low=0, high=1, low_in=False, high_in=False, symbol="p", meaning="probability of heads"
    )
    loaded = attnlab.Mutant("loaded", "$P(H) = 3/5$.", promise=attnlab.mean_in(0.6 - 0.05, 0.6 + 0.05))
    how = {
        "params": {"heads": heads},
        "promise": attnlab.mean_in(0.5 - 0.05, 0.5 + 0.05),
        "mutants": [loaded],
        "trials": 2000,
        "kind": "law",
        **how,
    }
    return claim("toy.fair", **how)(coin)


def toy(**how):
    """The library's own toy claim."""
    how = {"trials": None, "seed": 0, "level": 0.95, "beyond": False, "mutants": False, "seeds": 1, "set": {}, **how}
    return attnlab.Verdict(
        _attnlab.check_claim(
            "toy.fair", how["set"], how["seed"], how["trials"], False, how["level"], how["beyond"], how["mutants"],
            how["seeds"], None, toy=True,
        )
    )


SWEEP = {"claim": "toy.fair", "trials": 40, "seed": 5, "axes": {"heads": [0.3, 0.5, 0.7]}}


def sweep_of_toy(out, shard="0/1"):
    _attnlab.run_sweep(SWEEP, out, shard, False, False, None, "command", None, toy=True)


def test_rows_of_a_twin_are_equal_to_the_byte(claim, tmp_path):
    sweep_of_toy(tmp_path / "rust")
    twin(claim)
    found = attnlab.sweep(SWEEP, out=tmp_path / "python", progress=False)
    assert len(found) == 120
    # Only the build says that the code was made at run time.
    own, other = (json.loads((tmp_path / which / "run.json").read_text()) for which in ("python", "rust"))
    assert own["build"].startswith(f"{other['build']} with ")
    for name in ("rows.jsonl", "cells.jsonl", "cells.csv", "run.json"):
        rust, python = ((tmp_path / which / name).read_text() for which in ("rust", "python"))
        assert rust == python.replace(own["build"], other["build"]), name


def test_a_verdict_of_a_twin_is_equal(claim):
    twin(claim)
    for how in ({}, {"seed": 3, "trials": 50}, {"set": {"heads": 0.8}}):
        found = attnlab.check(
            "toy.fair", trials=how.get("trials"), seed=how.get("seed", 0), mutants=True, mutant_seeds=3, **how.get("set", {})
        )
        same = toy(**how, mutants=True, seeds=3)

        def plain(verdict):
            own = {n: v for n, v in verdict.items() if n not in ("wall_s", "source")}
            mutants = [{n: v for n, v in m.items() if n not in ("wall_s", "source", "says")} for m in verdict.mutants]
            return own, mutants

        assert plain(found) == plain(same)


def test_shards_resume_and_merge(claim, tmp_path):
    twin(claim)
    whole = attnlab.sweep(SWEEP, out=tmp_path / "whole", progress=False)
    for shard in ("0/3", "2/3", "1/3"):
        attnlab.sweep(SWEEP, out=tmp_path / "parts", shard=shard, progress=False)
    merged = attnlab.merge(tmp_path / "parts", tmp_path / "merged")
    rows = whole.folder / "rows.jsonl"
    assert (merged.folder / "rows.jsonl").read_bytes() == rows.read_bytes()
    # A run that lost half of its rows goes on to the same bytes.
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(lines[:50]))
    attnlab.sweep(SWEEP, out=tmp_path / "whole", progress=False)
    assert rows.read_bytes() == b"".join(lines)


def test_rows_of_other_code_are_not_taken(claim, tmp_path):
    twin(claim)
    attnlab.sweep(SWEEP, out=tmp_path, progress=False)

    @claim("toy.fair", params={"heads": 0.5}, promise=attnlab.mean_in(0.45, 0.55))
    def other(p, rng):
        return float(rng.random() < p.heads)

    with pytest.raises(ValueError, match="rows of other code of toy.fair.*write mix_builds=True"):
        attnlab.sweep(SWEEP, out=tmp_path, progress=False)
    assert len(attnlab.sweep(SWEEP, out=tmp_path, force=True, progress=False)) == 120


def threshold(x):
    return x < LIMIT


LIMIT = 0.5


def test_code_is_that_of_the_functions_and_values_that_a_trial_uses(monkeypatch):
    def trial(p, rng):
        return threshold(rng.random())

    def of(block=1):
        return attnlab._claims._code(trial, block)

    first = of()
    assert of() == first != of(block=2)
    monkeypatch.setitem(globals(), "LIMIT", 0.25)
    assert of() != first
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "threshold", lambda x: x <= LIMIT)
    assert of() != first


def test_a_block_is_the_same_whatever_trials_run(claim, tmp_path):
    """Rows of a vectorised claim: of few trials, of more, of shards, in any process."""
    calls = []

    @claim("mine.block", params={"size": 8}, promise=attnlab.mean_in(-0.2, 0.2), block=16, kind="law")
    def means(p, rng, trials):
        calls.append(trials)
        return rng.normal(size=(trials, p.size)).mean(axis=1)

    plan = {"claim": "mine.block", "trials": 40}
    whole = attnlab.sweep(plan, out=tmp_path / "whole", progress=False)
    assert calls == [16, 16, 16]
    cell = _attnlab.cell("mine.block", {"size": 8})
    expected = [
        attnlab.generator(0, "mine.block", cell=cell, trial=first).normal(size=(16, 8)).mean(axis=1)
        for first in (0, 16, 32)
    ]
    assert np.array_equal(whole["data.value"], np.concatenate(expected)[:40])
    attnlab.sweep({**plan, "trials": 10}, out=tmp_path / "more", progress=False)
    attnlab.sweep(plan, out=tmp_path / "more", progress=False)
    for shard in ("1/3", "0/3", "2/3"):
        attnlab.sweep(plan, out=tmp_path / "parts", shard=shard, progress=False)
    attnlab.merge(tmp_path / "parts", tmp_path / "merged")
    rows = (tmp_path / "whole" / "rows.jsonl").read_bytes()
    for other in ("more", "merged"):
        assert (tmp_path / other / "rows.jsonl").read_bytes() == rows, other
    # Outcomes of every kind, and those of another length or type.
    claim("mine.flags", block=4)(lambda p, rng, trials: rng.random(trials) < 2)
    assert attnlab.check("mine.flags").verdict == "supported"
    gap = attnlab.gap(1.0, 1.0, 1e-12)
    claim("mine.gaps", block=4)(lambda p, rng, trials: [gap, attnlab.uninformative("none")] * 2)
    assert attnlab.check("mine.gaps").informative == 20
    claim("mine.short", block=4)(lambda p, rng, trials: np.zeros(3))
    with pytest.raises(TypeError, match=r"returned an array \(3,\) of float64: must be \(4,\)"):
        attnlab.check("mine.short")
    claim("mine.few", block=4)(lambda p, rng, trials: [True])
    with pytest.raises(TypeError, match=r"returned 1 outcomes: must be an array \(4,\)"):
        attnlab.check("mine.few")


def test_the_report_has_it(claim, tmp_path):
    twin(claim)
    verdict = attnlab.check("toy.fair", mutants=True)
    attnlab.sweep(SWEEP, out=tmp_path / "runs", progress=False)
    page = attnlab.report(verdict, tmp_path / "runs", out=tmp_path / "page.html").read_text()
    assert "toy.fair" in page and "loaded" in page and "<svg" in page
    figure = attnlab.figure(tmp_path / "runs")[0]
    assert figure.svg.startswith("<svg") and figure.table()["x"] == [0.3, 0.5, 0.7]


def test_streams():
    a = attnlab.generator(5, "mine.claim", cell=1, trial=2)
    b = attnlab.generator(5, "mine.claim", cell=1, trial=2)
    assert np.array_equal(a.normal(size=100), b.normal(size=100))
    assert a.bit_generator.random_raw() == b.bit_generator.random_raw()
    others = [
        attnlab.generator(6, "mine.claim", cell=1, trial=2),
        attnlab.generator(5, "mine.clain", cell=1, trial=2),
        attnlab.generator(5, "mine.claim", cell=2, trial=2),
        attnlab.generator(5, "mine.claim", cell=1, trial=3),
        attnlab.part(a, "toss"),
        attnlab.part(a, "trial", 1),
    ]
    first = attnlab.generator(5, "mine.claim", cell=1, trial=2).integers(0, 2**63, size=4)
    for other in others:
        assert not (other.integers(0, 2**63, size=4) == first).any()
    assert np.array_equal(attnlab.part(a, "trial").integers(0, 2**63, size=4), first)


def test_streams_are_uniform():
    """Every way in which NumPy asks for bits, against moments with margins of six standard errors."""
    rng = attnlab.generator(1, "uniform")
    n = 200_000
    for sample, mean, spread in [
        (rng.random(n), 0.5, 12**-0.5),
        (rng.random(n, dtype=np.float32), 0.5, 12**-0.5),
        (rng.integers(0, 10, n), 4.5, (99 / 12) ** 0.5),
        (rng.integers(0, 10, n, dtype=np.uint8), 4.5, (99 / 12) ** 0.5),
        (rng.integers(0, 2**40, n) / 2**40, 0.5, 12**-0.5),
        (rng.normal(size=n), 0.0, 1.0),
        (rng.exponential(size=n), 1.0, 1.0),
    ]:
        assert abs(sample.mean() - mean) < 6 * spread / n**0.5
        assert abs(sample.std() / spread - 1) < 0.02
    assert sorted(rng.permutation(50)) == [*range(50)]


def test_random_numbers_are_those_of_rust(claim):
    """`rng.random()` takes the bits as `rand` does: the known stream of the toy claim, and the raw words below it."""
    raw = attnlab.generator(5, "x").bit_generator
    words = [raw.random_raw() for _ in range(5)]
    assert np.array_equal(attnlab.generator(5, "x").random(5), [(w >> 11) / 2**53 for w in words])


def test_the_same_trials_in_every_run(claim):
    seen = {}

    @claim("mine.seen", params={"size": 4}, promise=attnlab.always())
    def seen_trial(p, rng):
        numbers = tuple(rng.normal(size=p.size))
        assert seen.setdefault(numbers[0], numbers) == numbers
        return True

    for _ in range(2):
        attnlab.check("mine.seen", trials=20)
    assert len(seen) == 20
    cell = _attnlab.cell("mine.seen", {})
    assert attnlab.generator(0, "mine.seen", cell=cell, trial=7).normal() in seen


def test_hypotheses_promises_and_parameters(claim):
    @claim(
        "mine.tail",
        title="A normal number stays below its bound",
        params={
            "dim": attnlab.whole(8, symbol="n", meaning="numbers"),
            "delta": attnlab.real(0.5, low=0, low_in=False),
            "law": attnlab.choice("normal", ["normal", "uniform"]),
            "twice": attnlab.flag(False),
        },
        hypotheses=[("n >= 4", lambda p: p.dim - 4), ("noise", "delta <= 1", lambda p: 1 - p.delta)],
        promise=lambda p: attnlab.at_least(1 - 2 * np.exp(-(p.dim**2) / 32)),
        mutants=[
            attnlab.Mutant("far", "a bound of 1", trial=lambda p, rng: abs(rng.normal()) < 1, set={"dim": 40}),
        ],
        kind="probability",
        paper=attnlab.Paper("On tails", authors="N. N.", year=2026),
        place="Lemma 1",
    )
    def tail(p, rng):
        x = abs(rng.normal())
        return attnlab.event(x < p.dim / 2, x=x)

    card = attnlab.show("mine.tail")
    assert [p["name"] for p in card["parameters"]] == ["dim", "delta", "law", "twice"]
    assert card["source"] == "On tails (2026), Lemma 1"
    assert "mine.tail" in [entry["id"] for entry in attnlab.list("mine.*")]
    found = attnlab.check("mine.tail", mutants=True)
    assert found.verdict == "supported" and found.mutants[0]["verdict"] == "refuted"
    assert [h["name"] for h in found.hypotheses] == ["n >= 4", "noise"]
    assert found.promise.startswith("a trial holds with probability")
    outside = attnlab.check("mine.tail", dim=2, delta=2)
    assert outside.verdict == "out-of-scope" and not any(h["holds"] for h in outside.hypotheses)
    assert attnlab.check("mine.tail", dim=1, beyond_hypotheses=True, trials=200).verdict in ("refuted", "vacuous")
    for wrong in ({"dim": 0}, {"delta": 0.0}, {"law": "cauchy"}, {"twice": 1}, {"none": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            attnlab.check("mine.tail", **wrong)


def test_a_trial_alone_is_that_of_a_check(claim, tmp_path):
    twin(claim)
    rows = attnlab.sweep(SWEEP, out=tmp_path, progress=False)
    for i in (0, 7, 119):
        found = attnlab.trial("toy.fair", int(rows["trial"][i]), seed=5, heads=float(rows["parameters.heads"][i]))
        assert found.kind == "value" and found.parts == (rows["data.value"][i],)
    for kind in ("event", "gap", "value", "uninformative"):
        made = {
            "event": attnlab.event(True, n=3),
            "gap": attnlab.gap(1.0, 2.0, 0.5, "equal"),
            "value": attnlab.value(2.5, x=1.5),
            "uninformative": attnlab.uninformative("nothing", why="none"),
        }[kind]
        claim("mine.made")(lambda p, rng: made)
        assert attnlab.trial("mine.made", 0) == made
    with pytest.raises(ValueError, match="unknown claim"):
        attnlab.trial("mine.none", 0)


def test_outcomes(claim):
    @claim("mine.gap", kind="identity")
    def sum_of_squares(p, rng):
        x = rng.normal(size=100)
        return attnlab.gap(np.sum(x**2), np.dot(x, x), 1e-12, "equal", first=x[0])

    found = attnlab.check("mine.gap")
    assert found.verdict == "supported" and "1.0e-12" in found.tolerance

    @claim("mine.nothing")
    def nothing(p, rng):
        return attnlab.uninformative("nothing moved") if rng.random() < 0.5 else True

    found = attnlab.check("mine.nothing")
    assert found.informative < 40 and found.uninformative == {"nothing moved": 40 - found.informative}

    @claim("mine.broken")
    def broken(p, rng):
        return np.linalg.inv(np.zeros((2, 2))) is None

    assert attnlab.check("mine.broken").verdict == "failed"


def test_errors_are_those_of_the_function(claim):
    class Own(Exception):
        pass

    @claim("mine.raises", params={"x": 1.0}, hypotheses=[("x >= 0", lambda p: p.x)])
    def raises(p, rng):
        if p.x > 2:
            return "a text"
        if p.x > 1:
            raise Own("of the trial")
        return p.y

    with pytest.raises(AttributeError, match="the claim has no parameter y; it has x"):
        attnlab.check("mine.raises")
    with pytest.raises(Own, match="of the trial") as found:
        attnlab.check("mine.raises", x=1.5, seed=7)
    if hasattr(found.value, "__notes__"):
        [note] = found.value.__notes__
        call = note.split("alone: ")[1]
        assert note.startswith("in trial 0 of mine.raises") and "seed=7" in call
        with pytest.raises(Own, match="of the trial"):
            eval(call, {"attnlab": attnlab})
    with pytest.raises(TypeError, match="the trial of mine.raises returned str: must be a flag"):
        attnlab.check("mine.raises", x=3)
    with pytest.raises(Own):
        attnlab.sweep({"claim": "mine.raises", "trials": 2, "axes": {"x": [1.5]}}, progress=False)

    def wrong(p):
        raise Own("of the margin")

    with pytest.raises(Own, match="of the margin"):
        claim("mine.margin", hypotheses=[("x", wrong)])(lambda p, rng: True)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"id": "aot.theorem1"}, "the library has a claim of this one"),
        ({"id": "Two Words"}, "id = Two Words: must be FAMILY.NAME"),
        ({"kind": "theorem"}, "unknown kind 'theorem'"),
        ({"expected": "true"}, "unknown verdict 'true'"),
        ({"promise": 0.5}, "promise = 0.5: must be attnlab.always()"),
        ({"promise": lambda p: 0.5}, "promise = 0.5: must be attnlab.always()"),
        ({"params": {"x": attnlab.real(-1.0, low=0)}}, "x = -1.0: must be"),
        ({"mutants": [attnlab.Mutant("m", "says", set={"y": 1})]}, "unknown parameter 'y'"),
        ({"mutants": [attnlab.Mutant("m", "")]}, "`m`: sentence"),
        ({"trials": 0}, "trials = 0: must be a whole number >= 1"),
    ],
)
def test_parts_that_do_not_fit(claim, how, message):
    id = how.pop("id", "mine.wrong")
    with pytest.raises(ValueError) as found:
        claim(id, **how)(lambda p, rng: True)
    assert message in str(found.value), str(found.value)


def test_a_claim_may_be_defined_again(claim):
    for holds, verdict in [(True, "supported"), (False, "refuted")]:
        claim("mine.again")(lambda p, rng: holds)
        assert attnlab.check("mine.again").verdict == verdict
    attnlab.forget("mine.again")
    with pytest.raises(ValueError, match="unknown claim"):
        attnlab.check("mine.again")


def test_outcomes_and_promises_fit_together(claim):
    for promise, outcome, message in [
        (attnlab.always(), 0.5, "returned = a number: must be a flag or a gap"),
        (attnlab.mean_in(0, 1), True, "returned = a flag or a gap: must be a number"),
    ]:
        claim("mine.kinds", promise=promise)(lambda p, rng: outcome)
        with pytest.raises(ValueError, match=message):
            attnlab.check("mine.kinds")
    nothing = float("nan")
    for outcome, promise in [(attnlab.gap(nothing, 1.0, 0.0), attnlab.always()), (nothing, attnlab.mean_in(0, 1))]:
        claim("mine.nan", promise=promise)(lambda p, rng: outcome)
        found = attnlab.check("mine.nan")
        assert found.verdict == "failed" and found.informative == 0
        assert "mine.nan: failed" in repr(found)
    claim("mine.nan", promise=attnlab.mean_in(0, 1), block=4)(lambda p, rng, n: np.full(n, nothing))
    assert attnlab.check("mine.nan").verdict == "failed"


@pytest.mark.parametrize(
    "promise",
    [
        attnlab.mean_in(1, 0), attnlab.mean_in(float("nan"), 1), attnlab.at_least(2), attnlab.at_least(float("nan")),
        attnlab.fails_at_most(-1),
    ],
)
def test_promises_that_nothing_keeps(claim, promise):
    with pytest.raises(ValueError, match="promise = .*: must be"):
        claim("mine.promise", promise=promise)(lambda p, rng: True)
    with pytest.raises(ValueError, match="promise = .*: must be"):
        claim("mine.promise", promise=lambda p: promise)(lambda p, rng: True)


def test_margins_are_numbers(claim):
    with pytest.raises(ValueError, match="margin of a hypothesis = nan: must be a number"):
        claim("mine.margin", hypotheses=[("x >= 0", lambda p: float("nan"))])(lambda p, rng: True)
        attnlab.check("mine.margin", size=0.0)


def test_a_trial_is_a_function(claim):
    import functools

    for trial in (functools.partial(lambda p, rng: True), print, attnlab.Paper):
        with pytest.raises(TypeError, match="must be a function"):
            claim("mine.callable")(trial)
    with pytest.raises(TypeError, match="must be a function"):
        claim("mine.callable", mutants=[attnlab.Mutant("m", "says", trial=3)])(lambda p, rng: True)


def test_nested_values_are_refused():
    endless = []
    endless.append(endless)
    deep = [1.0]
    for _ in range(100_000):
        deep = [deep]
    for value in (endless, deep, {"a": endless}):
        with pytest.raises(ValueError, match=" = a nested .*: must be nested at most"):
            attnlab.check("aot.lemma1", delta=value)
    # A list of this depth is also destroyed one level at a time.
    while deep:
        deep = deep[0] if isinstance(deep, list) else None


def test_a_claim_that_checks_itself_ends(claim):
    @claim("mine.itself")
    def itself(p, rng):
        return attnlab.check("mine.itself", trials=1)

    with pytest.raises(RecursionError, match="a trial must not run its own claim"):
        attnlab.check("mine.itself", trials=1)

    @claim("mine.alone")
    def alone(p, rng):
        return attnlab.trial("mine.alone", 0)

    with pytest.raises(RecursionError, match="a trial must not run its own claim"):
        attnlab.trial("mine.alone", 0)

    @claim("mine.inside")
    def inside(p, rng):
        return bool(attnlab.check("aot.lemma1", trials=2))

    assert attnlab.check("mine.inside", trials=3).failures == 0


def test_a_failed_margin_is_no_failed_trial(claim):
    @claim("mine.margin", params={"size": 1.0}, hypotheses=[("1/size >= 0", lambda p: 1 / p.size)])
    def margin(p, rng):
        return True

    with pytest.raises(ZeroDivisionError):
        attnlab.check("mine.margin", size=0.0)


def test_rows_of_a_claim_that_is_not_declared_say_what_to_do(claim):
    twin(claim)
    attnlab.sweep({"claim": "toy.fair", "trials": 5}, out="runs/toy", progress=False)
    attnlab.forget("toy.fair")
    with pytest.raises(ValueError, match="a claim written in Python that is not declared here.*--catalogue FILE.py"):
        attnlab.rows("runs/toy").cells()
