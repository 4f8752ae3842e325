"""Sweeps on executors: rows are those of one process, to the byte."""

import concurrent.futures
import json
import multiprocessing
import threading

import numpy as np
import pytest

import attnlab
from conftest import LIMIT

PLAN = {"claim": "aot.lemma1", "trials": 12, "axes": {"delta": [0.1, 0.3]}, "set": {"dim": 16}}
OWN = {"claim": "mine.sent", "trials": 9, "axes": {"size": [2, 5]}}


@pytest.fixture(autouse=True)
def sent():
    """A claim that other processes do not have."""
    scale = 2.0

    @attnlab.claim(
        "mine.sent",
        statement="$E x^2 = 4$.",
        params={"size": 4},
        hypotheses=[("size >= 1", lambda p: p.size - 1)],
        promise=attnlab.mean_in(3.9, 4.1),
    )
    def square(p, rng):
        return float(np.mean((scale * rng.normal(size=p.size)) ** 2))

    yield square
    attnlab.forget("mine.sent")


def rows_of(folder, name="rows.jsonl"):
    return (folder / name).read_bytes()


def on(executor, plan, tmp_path, shards=None):
    """Runs the plan on the executor, and merges its shards."""
    found = attnlab.sweep(plan, out=tmp_path / "parts", executor=executor, shards=shards, progress=False)
    assert not list(found.folder.glob(".sweep-*"))
    attnlab.merge(found.folder, tmp_path / "merged")
    whole = attnlab.sweep(plan, out=tmp_path / "whole", progress=False)
    assert rows_of(tmp_path / "merged") == rows_of(whole.folder)
    assert len(found) == len(whole)
    return found


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("plan", [PLAN, OWN], ids=["a claim of the library", "a claim in Python"])
def test_a_pool_of_processes(plan, start, tmp_path):
    if plan is OWN:
        pytest.importorskip("cloudpickle")
    # A pool of threads of the library is there, which a fork does not have.
    attnlab.check("aot.lemma1", trials=20)
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} here")
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(start)) as pool:
        on(pool, plan, tmp_path)


def test_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            on(client, OWN, tmp_path, shards=3)


def test_submitit(tmp_path):
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(folder=tmp_path / "jobs", cluster="local")
    executor.update_parameters(timeout_min=max(1, LIMIT // 60))
    on(executor, OWN, tmp_path, shards=2)


def test_the_folder_is_that_of_shards(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        attnlab.sweep(PLAN, out=tmp_path / "pool", executor=pool, shards=2, progress=False)
    for shard in ("0/2", "1/2"):
        attnlab.sweep(PLAN, out=tmp_path / "shards", shard=shard, progress=False)
    names = {path.name for path in (tmp_path / "shards").iterdir()}
    assert names == {path.name for path in (tmp_path / "pool").iterdir()}
    # The lock is empty, and the origins name the threads of each.
    for name in ("run.json", "rows-0-of-2.jsonl", "rows-1-of-2.jsonl"):
        assert rows_of(tmp_path / "pool", name) == rows_of(tmp_path / "shards", name), name


def test_a_sweep_goes_on_with_the_shards_that_it_has(tmp_path):
    attnlab.sweep(PLAN, out=tmp_path, shard="1/3", progress=False)
    before = rows_of(tmp_path, "rows-1-of-3.jsonl")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert len(attnlab.sweep(PLAN, out=tmp_path, executor=pool, progress=False)) == 24
    assert rows_of(tmp_path, "rows-1-of-3.jsonl") == before


def test_an_exception_of_a_trial_ends_the_sweep(tmp_path):
    pytest.importorskip("cloudpickle")

    @attnlab.claim("mine.sent", statement="wrong", params={"size": 4})
    def wrong(p, rng):
        raise ZeroDivisionError if p.size < 0 else LookupError(f"size {p.size}")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with pytest.raises(LookupError, match="size 2"):
            attnlab.sweep(OWN, out=tmp_path, executor=pool, progress=False)
    assert not list(tmp_path.glob(".sweep-*"))


def test_a_run_beside_it_takes_no_exception(tmp_path):
    """The exception of a run is its own, although other runs begin and fail before it is raised."""
    seen = threading.Event()

    @attnlab.claim("mine.waits", statement="wrong", params={"size": 4})
    def waits(p, rng):
        seen.wait()
        raise LookupError("of the sweep")

    @attnlab.claim("mine.fails", statement="wrong", params={"size": 4})
    def fails(p, rng):
        raise RuntimeError("of the check")

    class Check(attnlab._show.Silent):
        """Shown while the trial waits, and once more when it has raised."""

        def update(self, label, done, total):
            with pytest.raises(RuntimeError, match="of the check"):
                attnlab.check("mine.fails")
            seen.set()

    plan = {"claim": "mine.waits", "trials": 9, "axes": {"size": [2, 5]}}
    with pytest.raises(LookupError, match="of the sweep"):
        attnlab._attnlab.run_sweep(plan, tmp_path, "0/1", False, False, None, "attnlab.sweep()", Check())
    for id in ("mine.waits", "mine.fails"):
        attnlab.forget(id)


def test_shards_end_with_the_process_that_has_submitted_them(tmp_path):
    """The sweep is stopped while its shards run: they end, and the same call goes on."""
    plan = {"claim": "aot.theorem1", "trials": 100_000, "set": {"tokens": 200, "dim": 40}}

    class Stop(attnlab._show.Silent):
        def update(self, label, done, total):
            if done:
                raise KeyboardInterrupt

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            attnlab._executor.sweep(pool, 2, plan, tmp_path, False, "attnlab.sweep()", Stop())
    # The pool has waited for its threads, which would have taken hours.
    lines = b"".join(rows_of(tmp_path, path.name) for path in tmp_path.glob("rows-*.jsonl")).splitlines()
    assert 0 < len(lines) < 100_000 and all(json.loads(line) for line in lines)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"shards": 2}, "shards = 2: must come with an executor"),
        ({"executor": object(), "shard": "0/2"}, "executor: must come without shard and force"),
        ({"executor": object(), "force": True}, "executor: must come without shard and force"),
    ],
)
def test_what_does_not_go_together(how, message):
    with pytest.raises(ValueError, match=message):
        attnlab.sweep(PLAN, progress=False, **how)


CATALOGUE = """
import attnlab

@attnlab.claim(
    "mine.fair",
    statement="$P(H) = 1/2$.",
    params={"heads": 0.5},
    promise=attnlab.mean_in(0.45, 0.55),
    mutants=[attnlab.Mutant("loaded", "$P(H) = 3/5$.", promise=attnlab.mean_in(0.55, 0.65))],
    trials=2000,
)
def fair(p, rng):
    if p.heads == 2:
        raise LookupError("two heads")
    return float(rng.random() < p.heads)
"""


def test_a_catalogue_file(command, tmp_path, capfd):
    (tmp_path / "mine.py").write_text(CATALOGUE)
    found = command("--catalogue", "mine.py", "check", "mine.fair", "--mutants", "--json")
    assert [line["verdict"] for line in found] == ["supported", "refuted"]
    assert command("--catalogue=mine.py", "list", "mine.*", "--json")[0]["id"] == "mine.fair"
    (tmp_path / "map.toml").write_text("claim = 'mine.fair'\ntrials = 30\n[axes]\nheads = [0.3, 0.5]\n")
    command("--catalogue", "mine.py", "sweep", "map.toml", "--out", "map")
    assert len((tmp_path / "map" / "rows.jsonl").read_text().splitlines()) == 60
    command("--catalogue", "mine.py", "report", "map", "--out", "map.html")
    assert "mine_fair" in (tmp_path / "map.html").read_text()
    command("--catalogue", "none.py", "list", status=2)
    (tmp_path / "broken.py").write_text("1 / 0")
    command("--catalogue", "broken.py", "list", status=2)
    command("--catalogue", "mine.py", "check", "mine.fair", "--set", "heads=2", status=2)


@pytest.mark.parametrize("shards", [0, -1, 1.5, 10**9, "2"])
def test_numbers_of_shards(shards, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="shards = .*: must be a whole number from 1 to 10000"):
            attnlab.sweep(PLAN, out=tmp_path, executor=pool, shards=shards, progress=False)
