"""Sweeps and experiments: rows as tables, figures, resumption, Ctrl-C, memory and time."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import attnlab
from conftest import LIMIT

SWEEP = {"claim": "aot.lemma1", "trials": 10, "axes": {"dim": [16, 32], "delta": [0.1, 0.3]}, "set": {"t": 0.5}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "map"
    attnlab.sweep(SWEEP, out=out, progress=False)
    return out


def test_a_dict_and_a_file_are_the_same_sweep(command, tmp_path, folder):
    text = "claim = 'aot.lemma1'\ntrials = 10\n[axes]\ndim = [16, 32]\ndelta = [0.1, 0.3]\n[set]\nt = 0.5\n"
    (tmp_path / "map.toml").write_text(text)
    found = attnlab.sweep("map.toml", progress=False)
    assert found.folder == Path("runs/map")
    command("sweep", "map.toml", "--out", "runs/command")
    for name in ("rows.jsonl", "cells.jsonl", "cells.csv", "aot_lemma1.svg"):
        assert (folder / name).read_bytes() == (found.folder / name).read_bytes(), name
        assert (folder / name).read_bytes() == Path("runs/command", name).read_bytes(), name
    # The file is an input of the run.
    assert (found.folder / "run.json").read_bytes() == Path("runs/command/run.json").read_bytes()


def test_columns(folder):
    found = attnlab.rows(folder)
    assert len(found) == 40 and "data.lhs" in found or "data.holds" in found
    lines = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert found["trial"].tolist() == [line["trial"] for line in lines]
    assert found["trial"].dtype == np.int64 and found["data.holds"].dtype == bool
    assert found["parameters.delta"].tolist() == [line["parameters"]["delta"] for line in lines]
    assert found["cell"].tolist() == [line["cell"] for line in lines]
    assert "40 rows" in repr(found) and "<table>" in found._repr_html_()
    assert found.dropped == []
    cells = found.cells()
    assert [c["verdict"] for c in cells] == [
        json.loads(line)["verdict"] for line in (folder / "cells.jsonl").read_text().splitlines()
    ]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables(folder, library):
    pytest.importorskip(library)
    found = attnlab.rows(folder)
    table = getattr(found, {"pyarrow": "arrow"}.get(library, library))()
    names = table.column_names if library == "pyarrow" else [*table.columns]
    assert names == found.names
    column = table["parameters.delta"]
    values = column.to_pylist() if library == "pyarrow" else [*column]
    assert values == found["parameters.delta"].tolist()


@pytest.fixture
def gaps(tmp_path):
    """Rows with columns of every kind, in every second one of which the values are not there."""
    attnlab.sweep(SWEEP, out=tmp_path / "a", progress=False)
    rows = tmp_path / "a" / "rows.jsonl"
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    for i, line in enumerate(lines):
        line["data"]["witness"] = {"n": 3, "x": "inf", "s": [1, "nan"], "f": True, "w": "a"} if i % 2 else {}
    rows.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return attnlab.rows(tmp_path / "a")


def test_missing_values_and_series(gaps):
    assert gaps["data.witness.n"].tolist()[:2] == [None, 3]
    assert np.isnan(gaps["data.witness.x"][0]) and gaps["data.witness.x"][1] == np.inf
    assert gaps["data.witness.f"].tolist()[:2] == [None, True]
    assert gaps["data.witness.s"][0] is None and np.isnan(gaps["data.witness.s"][1][1])


def test_missing_values_in_polars(gaps):
    pytest.importorskip("polars")
    table = gaps.polars()
    assert table["data.witness.n"].to_list()[:2] == [None, 3]
    assert table["data.witness.s"].to_list()[0] is None


def test_missing_values_in_pandas(gaps):
    pytest.importorskip("pandas")
    table = gaps.pandas()
    assert str(table["data.witness.n"].dtype) == "Int64" and str(table["data.witness.f"].dtype) == "boolean"


def test_missing_values_by_the_arrow_interface(gaps):
    table = pytest.importorskip("pyarrow").table(gaps)
    assert table["data.witness.f"].to_pylist()[:2] == [None, True]


def test_figures(folder, tmp_path):
    figures = attnlab.figure(folder)
    one = figures[0]
    assert one.svg == (folder / f"{one.name}.svg").read_text() and one.csv == (folder / f"{one.name}.csv").read_text()
    assert len(one.table()["x"]) >= 4 and figures[one.name] is one
    assert one._repr_html_().startswith("<figure") and figures._repr_html_().count("<figure") == len(figures)
    one.save(tmp_path / "a.svg")
    with pytest.raises(KeyError, match="must be one of"):
        figures["other"]


def test_experiments(command):
    found = attnlab.run("joma_tree", quick=True, progress=False)
    assert found.folder == Path("runs/joma_tree")
    rows = (found.folder / "rows.jsonl").read_bytes()
    again = attnlab.run("joma_tree", quick=True, progress=False)
    assert len(again) == len(found) and (found.folder / "rows.jsonl").read_bytes() == rows
    assert attnlab.figure("joma_tree")[0].svg.startswith("<svg")


def python(code, **how):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )


SLOW = {
    "a sweep in Rust": "attnlab.sweep({'claim': 'aot.theorem1', 'trials': 100000, 'set': {'tokens': 600, 'dim': 100}},"
    " out='slow', progress=False)",
    "a check in Rust": "attnlab.check('aot.theorem1', trials=100000, tokens=600, dim=100)",
    "one long trial in Python": "attnlab.check('mine.slow')",
    "layers of a network": "attnlab.unroll(*attnlab.sample(4000, dim=200)[:3], layers=100000, eta=1e-9)",
}


# Of these a first trial ends soon.
COUNTS = ["a sweep in Rust", "a check in Rust"]


@pytest.mark.parametrize("what", SLOW)
def test_ctrl_c_ends_what_is_under_way(what):
    code = f"""
        import os, signal, attnlab
        # A shell that starts a job in the background has it ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        class Report(attnlab._show.Silent):
            def update(self, label, done, total):
                if done or {what!r} not in {COUNTS!r}:
                    print("begun", flush=True)
                    self.update = lambda *_: None
        attnlab._show.receiver = lambda progress: Report()
        @attnlab.claim("mine.slow", statement="slow")
        def slow(p, rng):
            while True:
                rng.random()
        try:
            {SLOW[what]}
        except KeyboardInterrupt:
            print("stopped", flush=True)
            os._exit(0)
    """
    work = python(code)
    assert work.stdout.readline() == "begun\n"
    work.send_signal(signal.SIGINT)
    # The work itself would take hours.
    out, err = work.communicate(timeout=LIMIT)
    assert out == "stopped\n", err
    if what == "a sweep in Rust":
        lines = Path("slow/rows.jsonl").read_text().splitlines()
        assert lines and all(json.loads(line) for line in lines)


def test_a_stopped_sweep_goes_on_to_the_same_bytes(tmp_path):
    # Trials that take longer together than the time between two looks.
    sweep = {"claim": "aot.theorem1", "trials": 60, "set": {"tokens": 600, "dim": 100}}

    class Report:
        def line(self, text):
            pass

        def update(self, label, done, total):
            if done:
                raise KeyboardInterrupt

    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        attnlab._attnlab.run_sweep(sweep, run, "0/1", False, False, 1, "command", Report())
    assert (run / "rows.jsonl").read_bytes().count(b"\n") < 60
    attnlab.sweep(sweep, out=run, progress=False)
    whole = attnlab.sweep(sweep, out="whole", progress=False)
    assert (run / "rows.jsonl").read_bytes() == (whole.folder / "rows.jsonl").read_bytes()


def test_progress_is_shown(capfd):
    """A receiver that is called, with and without tqdm; what it raises ends the run."""
    from attnlab import _attnlab

    seen, lines = [], []

    class Report:
        def line(self, text):
            lines.append(text)

        def update(self, label, done, total):
            seen.append((label, done, total))
            # The first looks may come before the work begins.
            if total and any("take about" in text for text in lines):
                raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _attnlab.check_claim(
            "aot.theorem1", {"tokens": 600, "dim": 100}, 0, 100000, False, 0.95, False, False, 1, Report()
        )
    assert seen[-1][::2] == ("aot.theorem1", 100000)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc/self/statm here")
def test_unroll_takes_the_memory_of_its_arrays_once():
    """Z (256, 8192) takes 16.8 MB and the scores (8192, 8192) would take 537 MB."""
    code = """
        import resource, threading, time, numpy as np, attnlab
        z, bases, labels, _ = attnlab.sample(8192, clusters=2, dim=128)
        z = np.ascontiguousarray(z)
        attnlab.unroll(np.ascontiguousarray(z[:, :512]), bases, labels[:512], layers=1)
        def now():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * resource.getpagesize()
        before, most, done = now(), 0, False
        def watch():
            global most
            while not done:
                most = max(most, now())
                time.sleep(0.002)
        thread = threading.Thread(target=watch); thread.start()
        found = attnlab.unroll(z, bases, labels, phi="thresholded-softmax", layers=2)
        done = True; thread.join()
        print((most - before) / z.nbytes, found.tokens.flags.owndata or found.tokens.base is not None)
    """
    # Products take buffers for each thread.
    work = python(code, env={**os.environ, "RAYON_NUM_THREADS": "2"})
    out, err = work.communicate(timeout=LIMIT)
    assert work.returncode == 0, err
    times = float(out.split()[0])
    # The tokens before and after a layer (the first are the caller's), the coefficients of a head with their update
    # (half of Z each), and what the SNR takes of a cluster: 4 times Z at the peak. A copy of the input, or of the
    # output, would make it 5.
    assert 1 < times < 4.6, times


def test_more_trials_are_added_to_the_rows(tmp_path):
    """A sweep that grew is that of the larger number."""
    plan = {"claim": "aot.lemma1", "trials": 4, "axes": {"delta": [0.2, 0.5]}, "set": {"dim": 8}}
    out = tmp_path / "run"
    assert len(attnlab.sweep(plan, out=out, progress=False)) == 8
    rows = attnlab.sweep({**plan, "trials": 6}, out=out, progress=False)
    assert len(rows) == 12
    once = attnlab.sweep({**plan, "trials": 6}, out=tmp_path / "once", progress=False)
    assert (rows.folder / "rows.jsonl").read_bytes() == (once.folder / "rows.jsonl").read_bytes()


def test_a_check_goes_on_until_it_decides():
    once = attnlab.check("denoise.a23", trials=20)
    decided = attnlab.check("denoise.a23", trials=20, until_decided=True)
    assert once.verdict == "inconclusive" and decided.verdict == "supported"
    assert decided.trials > 20 and decided.looks[0] == 20


@pytest.mark.parametrize("how", ["interrupted", "in a daemon thread"])
def test_the_interpreter_ends_after_what_is_under_way(how):
    """A trial that is under way when the script ends: no thread calls an interpreter that is gone."""
    code = f"""
        import threading, attnlab
        begun = threading.Event()
        @attnlab.claim("mine.busy", statement="busy", trials=50)
        def busy(p, rng):
            begun.set()
            return sum(rng.random() for _ in range(200_000)) > 0
        if {how!r} == "interrupted":
            class Report(attnlab._show.Silent):
                def update(self, label, done, total):
                    begun.wait()
                    raise KeyboardInterrupt
            attnlab._show.receiver = lambda progress: Report()
            try:
                attnlab.check("mine.busy")
            except KeyboardInterrupt:
                pass
        else:
            threading.Thread(target=attnlab.check, args=["mine.busy"], daemon=True).start()
            begun.wait()
        print("ended", flush=True)
    """
    work = python(code)
    out, err = work.communicate(timeout=LIMIT)
    assert (work.returncode, out) == (0, "ended\n"), err


NETWORK = Path(__file__).resolve().parents[2] / "crates/networks/tests/data/llama.gguf"


def test_a_network_is_evaluated_as_by_the_command(command, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the cat ")
    found = attnlab.evaluate(NETWORK, "text", text, window=[8, 16], stride=4, seed=1, out="python", progress=False)
    command("evaluate", NETWORK, "--task", "text", "--data", text, "--window", "8,16", "--stride", "4", "--seed", "1", "--out", "command")
    for name in ("rows.jsonl", "evaluate.svg"):
        assert (found.folder / name).read_bytes() == Path("command", name).read_bytes(), name
    assert set(found["parameters.variant"]) == {"trained", "untrained"} and set(found["parameters.window"]) == {8, 16}
    assert "parameters.reading" in attnlab.rows("python")
    assert attnlab.figure("python")["evaluate"].svg.startswith("<svg")
    few = attnlab.evaluate(NETWORK, "cost", context=8, batch=1, runs=2, out="cost", progress=False)
    assert len(few) == 1


@pytest.mark.parametrize(
    "task, how, message",
    [
        ("lambda", {}, "task = 'lambda': must be a known word; unknown variant `lambda`, expected one of `lambada`"),
        ("text", {}, "data = []: must be a file; the task text reads one. Add data=FILE"),
        ("cost", {"window": 8}, "task = cost: must be text with window=. Leave window= out"),
        ("cost", {"runs": 0}, "runs = 0: must be a whole number >= 1"),
        ("text", {"detokenise": "openay"}, "detokenise = 'openay': must be a known word"),
        ("text", {"window": [8, "x"]}, "window = 'x': must be a whole number"),
        ("text", {"level": 1.5}, "level"),
    ],
)
def test_an_evaluation_is_refused(task, how, message):
    with pytest.raises(ValueError) as found:
        attnlab.evaluate(NETWORK, task, progress=False, **how)
    assert message in str(found.value), str(found.value)
    assert not Path("runs").exists()
