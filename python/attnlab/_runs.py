"""Sweeps and experiments, whose rows are kept in folders, with their tables and figures."""

from __future__ import annotations

import csv
import html
import io
import os
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from . import _attnlab, _executor, _show
from ._functions import Verdict


class Rows:
    """Rows of a folder as columns, named by their path in a row: `trial`, `parameters.tokens`, `data.witness.layer`.

    `rows["data.value"]` is a NumPy array: int64, float64 with NaN where there is none, bool, or objects (texts, series
    as arrays, None). `pandas()`, `polars()` and `arrow()` make tables; the Arrow interface of others reads it too.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        found = _attnlab.read_rows(self.folder)
        self._columns: dict[str, tuple[str, Any, np.ndarray]] = found["columns"]
        #: Messages about rows that were cut off.
        self.dropped: Sequence[str] = found["dropped"]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [*self._columns]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))[2]) if self._columns else 0

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> np.ndarray:
        kind, values, missing = self._columns[name]
        array: np.ndarray
        if kind in ("series", "text"):
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array
        array = values
        if kind == "number" or not missing.any():
            return array
        array = array.astype(object)
        array[missing] = None
        return array

    def columns(self) -> dict[str, np.ndarray]:
        """Returns all columns as a dict of NumPy arrays."""
        return {name: self[name] for name in self._columns}

    def pandas(self) -> Any:
        """Returns a pandas DataFrame; columns with missing whole numbers or flags have pandas' own nullable types."""
        import pandas as pd

        table: dict[str, Any] = {}
        for name, (kind, values, missing) in self._columns.items():
            nullable = {"whole": "Int64", "flag": "boolean"}.get(kind)
            if nullable and missing.any():
                table[name] = pd.array(self[name], dtype=nullable)
            else:
                table[name] = self[name]
        return pd.DataFrame(table)

    def polars(self) -> Any:
        """Returns a polars DataFrame."""
        import polars as pl

        table = {}
        for name, (kind, values, missing) in self._columns.items():
            if kind == "series":
                plain = [None if v is None else v.tolist() for v in values]
                table[name] = pl.Series(name, plain, dtype=pl.List(pl.Float64))
            elif kind == "text":
                table[name] = pl.Series(name, values, dtype=pl.String)
            else:
                series = pl.Series(name, values)
                gone = pl.Series(missing)
                table[name] = pl.select(pl.when(gone).then(None).otherwise(series).alias(name))[name]
        return pl.DataFrame(list(table.values()))

    def arrow(self) -> Any:
        """Returns a pyarrow Table; series are lists of doubles."""
        import pyarrow as pa

        arrays = {}
        for name, (kind, values, missing) in self._columns.items():
            if kind == "series":
                arrays[name] = pa.array(values, type=pa.list_(pa.float64()))
            elif kind == "text":
                arrays[name] = pa.array(values, type=pa.string())
            else:
                arrays[name] = pa.array(values, mask=missing)
        return pa.table(arrays)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def cells(self) -> _show.Entries:
        """Judges the cells of a sweep over a claim from the rows: one dict per cell, as in cells.jsonl."""
        return _show.Entries(_attnlab.read_cells(self.folder))

    def __repr__(self) -> str:
        return f"Rows({str(self.folder)!r}: {len(self)} rows, {len(self._columns)} columns)"

    def _repr_html_(self) -> str:
        few = min(len(self), 8)
        lines = ([self[name][i] for name in self._columns] for i in range(few))
        return f"<p>{html.escape(repr(self))}</p>" + _show.table(self.names, lines)


def rows(folder: str | os.PathLike[str]) -> Rows:
    """Reads the rows that a sweep or an experiment has stored in a folder; each is checked against its plan.

    Raises ValueError for a folder without rows, or a line that is no row of the run.
    """
    return Rows(folder)


class Figure:
    """A figure: `svg`, `title`, `caption`, and the numbers behind it as `table()`."""

    def __init__(self, name: str, title: str, caption: str, svg: str, numbers: str) -> None:
        self.name, self.title, self.caption, self.svg, self.csv = name, title, caption, svg, numbers

    def table(self) -> dict[str, list[Any]]:
        """Returns the numbers as columns: panel, series, x, y, value, low, high; None where there is none."""

        def read(text: str) -> Any:
            try:
                return float(text)
            except ValueError:
                return text or None

        lines = [*csv.DictReader(io.StringIO(self.csv))]
        return {name: [read(line[name]) for line in lines] for name in (lines[0] if lines else ())}

    def pandas(self) -> Any:
        """Returns the numbers as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.table())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Figure({self.name!r})"

    def _repr_html_(self) -> str:
        return f"<figure style='margin:0;background:#fff;max-width:56rem'>{self.svg}</figure>"


class Figures(Sequence[Figure]):
    """Figures of a run; a notebook shows them one after the other."""

    def __init__(self, all: Sequence[Figure]) -> None:
        self._all = tuple(all)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            for found in self._all:
                if found.name == which:
                    return found
            raise KeyError(f"{which}: must be one of {', '.join(f.name for f in self._all)}")
        return self._all[which]

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"Figures({', '.join(f.name for f in self._all)})"

    def _repr_html_(self) -> str:
        return "".join(f._repr_html_() for f in self._all)


def figure(source: str | os.PathLike[str], *, partial: bool = False) -> Figures:
    """Draws the figures of a folder of rows, or of the experiment of this name in runs/NAME.

    Nothing is sampled. With `partial`, trials may be missing: the pictures then have a watermark.

    Raises ValueError for a folder without a run, or with missing trials.
    """
    folder = Path(source)
    if not folder.exists():
        known = [entry["name"] for entry in _attnlab.entries("experiments")]
        name = str(source)
        if name in known:
            folder = Path("runs") / name
            if not folder.exists():
                raise ValueError(f"{name}: {folder} has no rows of it yet. Run it first: attnlab.run({name!r})")
    return Figures([Figure(*found) for found in _attnlab.figures_of(folder, partial)])


def sweep(
    of: str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str] | None = None,
    shard: str = "0/1",
    executor: Any = None,
    shards: int | None = None,
    force: bool = False,
    mix_builds: bool = False,
    progress: bool = True,
) -> Rows:
    """Runs a claim or an experiment over every combination of some axes, as `attnlab sweep` does, and returns its rows.

    `of` is a sweep file or a dict with its keys (`sweep_schema()` prints them):
    `{"claim": "aot.lemma1", "trials": 20, "axes": {"delta": [0.2, 0.5]}, "set": {"dim": 32}}`. Rows go to `out`, by
    default runs/NAME. A sweep that was stopped (Ctrl-C, a kill) goes on where it was: give the same call again. Shards
    "0/4" .. "3/4" divide the trials among processes or machines; `merge` joins them, byte for byte as one run. The rows
    of the same sweep with fewer trials stay, and only the trials that it lacks are run.

    `executor` runs the shards on its workers, by default one each: a process pool of concurrent.futures, a client of
    Dask, an executor of submitit, or anything else with their `submit`. The workers must see the folder. It then holds
    what the shards of the command line write, byte for byte. A claim of a notebook is sent by cloudpickle.

    Raises ValueError for a sweep that cannot be run, or a folder with rows of another one (and no `force`).
    """
    if isinstance(of, Mapping):
        name = str(of.get("claim") or of.get("experiment") or "sweep")
        plan: Any = dict(of)
        words = repr(plan)
    else:
        plan = Path(of)
        name, words = plan.stem, repr(str(of))
    folder = Path(out) if out is not None else Path("runs") / name
    part = "" if shard == "0/1" else f", shard={shard!r}"
    command = f"attnlab.sweep({words}, out={str(folder)!r}{part})"
    if executor is None and shards is not None:
        raise ValueError(f"shards = {shards}: must come with an executor. For one shard write shard='0/{shards}'")
    if executor is not None and (part or force):
        raise ValueError("executor: must come without shard and force. Delete the folder, or give another by out=")
    receiver = _show.receiver(progress)
    dropped: Sequence[str] = []
    try:
        if executor is None:
            _, _, dropped = _attnlab.run_sweep(plan, folder, shard, force, mix_builds, None, command, receiver)
        else:
            _executor.sweep(executor, shards, plan, folder, mix_builds, command, receiver)
    finally:
        receiver.close()
    for line in dropped:
        receiver.line(f"warning: {line}")
    return Rows(folder)


def sweep_schema() -> str:
    """Returns every key of a sweep file with its meaning, as TOML to edit.

    >>> "[axes]" in sweep_schema()
    True
    """
    return _attnlab.sweep_schema()


def merge(
    folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    force: bool = False,
    mix_builds: bool = False,
) -> Rows:
    """Joins the folders of the shards of one run into `out`, byte for byte as a single run would have written it.

    Raises ValueError if trials are missing, or the folders are of different runs.
    """
    all = [folders] if isinstance(folders, (str, os.PathLike)) else [*folders]
    _attnlab.merge([Path(f) for f in all], Path(out), force, mix_builds)
    return Rows(out)


def run(
    name: str,
    *,
    quick: bool = False,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    shard: str = "0/1",
    force: bool = False,
    progress: bool = True,
    **settings: Any,
) -> Rows:
    """Runs an experiment of a paper, as `attnlab run` does, and returns its rows; `figure(rows.folder)` draws it.

    `quick` takes its small sizes; `settings` are those of `show(name)["settings"]`. Rows go to `out`, by default
    runs/NAME. A run that was stopped, or that has fewer trials, goes on where it was.

    Raises ValueError for an unknown experiment or setting.
    """
    receiver = _show.receiver(progress)
    place = None if out is None else Path(out)
    try:
        folder, (_, _, dropped) = _attnlab.run_experiment(
            name, quick, settings, seed, place, shard, force, receiver
        )
    finally:
        receiver.close()
    for line in dropped:
        receiver.line(f"warning: {line}")
    return Rows(folder)


def evaluate(
    network: str | os.PathLike[str],
    task: str,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    detokenise: str | Sequence[str] | None = None,
    window: int | Sequence[int] | None = None,
    stride: int | Sequence[int] | None = None,
    limit: int | None = None,
    sample: str = "first",
    controls: bool = True,
    context: int | None = None,
    batch: int | None = None,
    runs: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    out: str | os.PathLike[str] = "runs/evaluate",
    shard: str = "0/1",
    force: bool = False,
    progress: bool = True,
) -> Rows:
    """Evaluates a trained network, as `attnlab evaluate` does, and returns its rows, one per reading.

    `network` is a folder with config.json and safetensors, or a GGUF file; `task` is "lambada", "cbt", "text" (files in
    `data`) or "cost". The readings and their columns, in nats per token, word or byte or as shares, are defined in
    docs/evaluate.md. `window`, `stride` and `context` are in tokens. Rows and the figure go to `out`; a run that was
    stopped goes on. `controls` adds the network with random weights, whose draw `seed` gives.

    Raises ValueError for a task, a word or a size that is not allowed, and for files that are not of their format;
    OSError for files that are missing.

    >>> evaluate("no-network", "text", "wiki.test.tokens")
    Traceback (most recent call last):
    ...
    ValueError: no-network: must be a GGUF file, or a folder with config.json and safetensors
    """
    files = [data] if isinstance(data, (str, os.PathLike)) else [*data]
    choices = dict(
        detokenise=detokenise, window=window, stride=stride, limit=limit, sample=sample, controls=controls,
        context=context, batch=batch, runs=runs,
    )
    receiver = _show.receiver(progress)
    try:
        _, _, dropped = _attnlab.evaluate_network(
            Path(network), task, [Path(f) for f in files], choices, level, seed, Path(out), shard, force, receiver
        )
    finally:
        receiver.close()
    for line in dropped:
        receiver.line(f"warning: {line}")
    return Rows(out)


def report(
    *sources: Verdict | str | os.PathLike[str], out: str | os.PathLike[str] = "report.html", partial: bool = False
) -> Path:
    """Writes one HTML page of verdicts and of folders with rows, as `attnlab report` does, and returns its path.

    Raises ValueError for a folder without a run.
    """
    verdicts = [s._found for s in sources if isinstance(s, Verdict)]
    folders = [Path(s) for s in sources if not isinstance(s, Verdict)]
    for note in _attnlab.write_report(verdicts, folders, Path(out), partial):
        _show.Silent().line(note)
    return Path(out)
