"""The compiled part of the package. Its functions take every argument; use those of `attnlab`."""

from os import PathLike
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

__version__: str
build: str

_Path = str | PathLike[str]
_Counts = tuple[int, int, list[str]]

class Checked:
    def report(self) -> dict[str, Any]: ...
    def title(self) -> str: ...
    def mutants(self) -> list[dict[str, Any]]: ...
    def rows(self) -> str: ...
    def card(self) -> str: ...

def verdict_of_rows(rows: str) -> Checked: ...

class Stream:
    def __init__(
        self, seed: int = 0, claim: str = "", cell: int = 0, trial: int = 0, part: str = "trial", index: int = 0
    ) -> None: ...
    @property
    def capsule(self) -> Any: ...
    @property
    def lock(self) -> Any: ...
    def part(self, name: str, index: int = 0) -> Stream: ...
    def random_raw(self) -> int: ...

def unroll(
    z: np.ndarray,
    bases: Sequence[np.ndarray],
    labels: np.ndarray | None,
    phi: str,
    layers: int,
    eta: float,
    tau: float,
    mask: str,
    normalise_queries: bool,
    precision: str,
    report: Any,
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray, list[str]]: ...
def horizon_of_draw(
    tokens: int, clusters: int, dim: int, delta: float | None, eta: float, tau: float, seed: int, report: Any
) -> dict[str, Any]: ...
def horizon_of_tokens(
    z: np.ndarray, bases: Sequence[np.ndarray], labels: np.ndarray | None, eta: float, tau: float, report: Any
) -> dict[str, Any]: ...
def sample(
    options: Mapping[str, Any], claim: str | None, set: Mapping[str, Any], seed: int, trial: int
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, dict[str, Any]]: ...
def inspect_tokens(
    z: np.ndarray,
    name: str,
    options: Mapping[str, Any],
    bases: Sequence[np.ndarray] | None,
    labels: np.ndarray | None,
    controls: bool,
    seed: int,
    report: Any,
) -> dict[str, Any]: ...
def end() -> None: ...
def check_claim(
    name: str,
    set: Mapping[str, Any],
    seed: int,
    trials: int | None,
    until_decided: bool,
    level: float,
    beyond_hypotheses: bool,
    mutants: bool,
    mutant_seeds: int,
    report: Any,
    toy: bool = False,
) -> Checked: ...
def judge_on_arrays(
    name: str, arrays: Mapping[str, Any], set: Mapping[str, Any], mutants: bool, cases: bool
) -> dict[str, Any]: ...
def run_trial(
    name: str, number: int, seed: int, set: Mapping[str, Any]
) -> tuple[str, list[Any], dict[str, Any]]: ...
def write_report(verdicts: Sequence[Checked], folders: Sequence[_Path], out: _Path, partial: bool) -> list[str]: ...
def register(spec: Mapping[str, Any]) -> None: ...
def forget(id: str) -> None: ...
def entries(what: str) -> list[dict[str, Any]]: ...
def show(id: str) -> dict[str, Any]: ...
def glossary(word: str | None = None) -> dict[str, Any]: ...
def evaluate(name: str, set: Mapping[str, Any]) -> Any: ...
def cell(id: str, set: Mapping[str, Any]) -> int: ...
def command(arguments: Sequence[str]) -> int: ...
def echo(value: Any) -> Any: ...
def run_sweep(
    of: _Path | Mapping[str, Any],
    out: _Path,
    shard: str,
    force: bool,
    mix_builds: bool,
    threads: int | None,
    command: str,
    report: Any,
    toy: bool = False,
) -> _Counts: ...
def size_of_sweep(of: _Path | Mapping[str, Any]) -> tuple[int, str | None]: ...
def merge(folders: Sequence[_Path], out: _Path, force: bool, mix_builds: bool) -> _Counts: ...
def run_experiment(
    name: str,
    quick: bool,
    set: Mapping[str, Any],
    seed: int,
    out: _Path | None,
    shard: str,
    force: bool,
    report: Any,
) -> tuple[Path, _Counts]: ...
def evaluate_network(
    network: _Path,
    task: str,
    data: Sequence[_Path],
    choices: Mapping[str, Any],
    level: float,
    seed: int,
    out: _Path,
    shard: str,
    force: bool,
    report: Any,
) -> _Counts: ...
def read_rows(folder: _Path) -> dict[str, Any]: ...
def read_cells(folder: _Path) -> list[dict[str, Any]]: ...
def read_run(folder: _Path) -> dict[str, Any]: ...
def figures_of(folder: _Path, partial: bool) -> list[tuple[str, str, str, str, str]]: ...
def sweep_schema() -> str: ...
