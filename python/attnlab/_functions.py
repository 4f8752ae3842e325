"""Checks, closed forms, draws, networks and horizons."""

from __future__ import annotations

import array
import builtins
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from . import _attnlab, _show


class Verdict(Mapping[str, Any]):
    """Verdict on a claim with its evidence.

    A read-only mapping with the names of `attnlab check --json`; each name is an attribute too: `verdict`, `expected`,
    `estimate` (a dict with value, low, high, level), `hypotheses`, `promise`, `witness`, `parameters`, `trials`,
    `failures`, `p_value`, `reach`, `seed`. `bool(v)` says whether the verdict is the expected one. A notebook shows the
    card of the report.

    >>> v = check("aot.lemma1", trials=100, seed=3)
    >>> v.estimate["low"] <= v.estimate["value"] <= v.estimate["high"]
    True
    >>> v.verdict, v.trials, v.seed
    ('supported', 100, 3)
    """

    __slots__ = ("_found", "_report")

    def __init__(self, found: Any) -> None:
        self._found = found
        self._report: dict[str, Any] = found.report()

    def __getitem__(self, name: str) -> Any:
        return self._report[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._report)

    def __len__(self) -> int:
        return len(self._report)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._report[name]
        except KeyError:
            raise AttributeError(f"a verdict has no {name}; it has {', '.join(self._report)}") from None

    def __dir__(self) -> builtins.list[str]:
        return sorted([*super().__dir__(), *self._report])

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval of the estimate."""
        return self.estimate["low"], self.estimate["high"]

    @property
    def as_expected(self) -> bool:
        """Flag: the verdict is the one that the claim expects at these parameters."""
        return bool(self.verdict == self.expected)

    def __bool__(self) -> bool:
        return self.as_expected

    @property
    def title(self) -> str:
        """Title of the claim."""
        return str(self._found.title())

    @property
    def mutants(self) -> builtins.list[dict[str, Any]]:
        """Checks of the false variants, with `mutant`, `says`, `seeds` and `refuted`; empty unless `check` was called
        with `mutants=True`."""
        return [*self._found.mutants()]

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as a dict of plain values: what `attnlab check --json` prints."""
        return dict(self._report)

    def _repr_html_(self) -> str:
        return str(self._found.card())

    def __reduce__(self) -> tuple[Any, ...]:
        return _verdict_of, (self._found.rows(),)

    def __repr__(self) -> str:
        value, low, high = (_show.cell(self.estimate[name]) for name in ("value", "low", "high"))
        mark = "" if self.as_expected else f" (unexpected: {self.expected} was expected)"
        return (
            f"{self.claim}: {self.verdict}{mark}, estimate {value} [{low}, {high}], "
            f"{self.trials} trials, promise: {self.promise}"
        )


def _verdict_of(rows: str) -> Verdict:
    """Makes a verdict again of its pickle; a claim written in Python must be declared in this process."""
    return Verdict(_attnlab.verdict_of_rows(rows))


def check(
    name: str,
    *,
    trials: int | None = None,
    until_decided: bool = False,
    seed: int = 0,
    level: float = 0.95,
    beyond_hypotheses: bool = False,
    mutants: bool = False,
    mutant_seeds: int = 1,
    progress: bool = False,
    set: Mapping[str, Any] | None = None,
    **params: Any,
) -> Verdict:
    """Checks a claim by simulation, as `attnlab check` does.

    `params` are the claim's parameters (`show(name)` lists them); `set` takes those whose names are arguments here.
    A verdict can be pickled.
    The same seed gives the same verdict on every machine and number of threads, to the bit. With `until_decided` the
    trials are doubled until they decide, at most to 128 times the first number; the levels of the looks share the error.

    Raises ValueError for an unknown claim or parameter and a value out of range, ArithmeticError if a computation
    fails, KeyboardInterrupt within a second of Ctrl-C.

    >>> check("aot.theorem1", tokens=400, dim=80, layers=12, trials=6, beyond_hypotheses=True).verdict
    'refuted'
    >>> check("aot.theorem1", token=400)
    Traceback (most recent call last):
    ...
    ValueError: unknown parameter 'token'; did you mean tokens?
    """
    report = _show.receiver(progress)
    try:
        found = _attnlab.check_claim(
            name, {**(set or {}), **params}, seed, trials, bool(until_decided), level, beyond_hypotheses, mutants, mutant_seeds, report
        )
    finally:
        report.close()
    return Verdict(found)


def on_arrays(
    name: str,
    arrays: Mapping[str, Any],
    *,
    mutants: bool = False,
    cases: bool = False,
    set: Mapping[str, Any] | None = None,
    **params: Any,
) -> dict[str, Any]:
    """Judges a claim about a layer on arrays of yours in place of draws, as `attnlab check --array` does.

    `show(name)["arrays"]` lists what a claim takes: (d, N) with tokens as columns, or a list of arrays, one per head.
    Returns the `verdict` ("holds", "fails" or "says nothing"), the numbers of cases that `holds` and `fails`, those that are
    `silent` by reason, and the `closest` case with its two sides. With `mutants` the claim's false variants are judged on
    the same arrays: one that does not fail cannot be told from the claim by them. With `cases` a list of all cases is added,
    such as for a table: `pandas.json_normalize(found["cases"])`.

    Raises ValueError for a claim about draws, an unknown, missing or ill-shaped array, and a parameter whose place an array
    takes.

    >>> found = on_arrays("memory.theorem5", {"patterns": np.array([[1.0, -1.0]]), "queries": np.array([[1.0]])}, beta=2.0)
    >>> found["verdict"], found["holds"], found["closest"]["sides"]
    ('holds', 1, '0.0359724 ≤ 0.0434185, tolerance 1e-11')
    """
    read = {
        key: [_array(one) for one in value] if isinstance(value, (builtins.list, tuple)) else _array(value)
        for key, value in arrays.items()
    }
    return _attnlab.judge_on_arrays(name, read, {**(set or {}), **params}, mutants, cases)


def list(what: str = "claims") -> _show.Entries:
    """Lists the catalogue: "claims", "formulas", "experiments", "papers", or the claims of a "prefix*".

    Returns a list of dicts, which a notebook shows as a table. Claims written in Python are in it.

    >>> [entry["id"] for entry in list("aot.lemma3*")]
    ['aot.lemma3', 'aot.lemma3_bounded']
    """
    return _show.Entries(_attnlab.entries(what))


def show(name: str) -> dict[str, Any]:
    """Returns the card of a claim, formula or experiment: statement, hypotheses, parameters, mutants.

    >>> [p["name"] for p in show("aot.min_tokens")["parameters"]]
    ['clusters']
    """
    return _attnlab.show(name)


def glossary(word: str | None = None) -> dict[str, Any]:
    """Returns the definitions of every quantity, verdict word and term, or of one.

    >>> sorted(glossary())
    ['quantities', 'terms', 'verdicts']
    >>> glossary("mutant")["terms"]["mutant"][:17]
    'a false variant o'
    """
    return _attnlab.glossary(word)


def eval(name: str, *, set: Mapping[str, Any] | None = None, **params: Any) -> Any:
    """Evaluates a closed form: a number, or a NumPy array where the value is one. `list("formulas")` has their names.

    Parameters that are numbers may be NumPy arrays: they are broadcast against each other, and the value has their shape
    before its own.

    Raises ValueError for an unknown name or parameter, ArithmeticError where it has no finite value.

    >>> eval("aot.min_tokens", clusters=2)
    177515
    >>> eval("aot.min_tokens", clusters=np.array([[2, 3]])).shape
    (1, 2)
    """
    given = {**(set or {}), **params}
    arrays = {n: v for n, v in given.items() if isinstance(v, np.ndarray) and v.ndim and n not in _vectors(name)}
    if not arrays:
        return _attnlab.evaluate(name, given)
    places = np.broadcast(*arrays.values())
    values = [_attnlab.evaluate(name, {**given, **dict(zip(arrays, place))}) for place in places]
    return np.array(values).reshape(places.shape + np.shape(values[0]) if values else places.shape)


def _vectors(name: str) -> builtins.set[str]:
    """Names of the parameters of a closed form that are arrays themselves."""
    card = _attnlab.show(name)
    return {
        n for p in card.get("formula", card)["parameters"] if p["allowed"].startswith(("an array", "rows of")) for n in (p["name"], *p["aliases"])
    }


def _array(value: Any) -> Any:
    """The NumPy array of an array of another library, in its memory (DLPack, the buffer protocol); others as they are."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "__array_interface__") or isinstance(value, (memoryview, array.array)):
        return np.asarray(value)
    return value


def _arrays(values: Any) -> Any:
    return [_array(one) for one in values] if isinstance(values, (builtins.list, tuple)) else values


class Draw(NamedTuple):
    """A draw of Definition 1."""

    z: np.ndarray
    """Tokens Z (d, N), float64."""
    bases: Sequence[np.ndarray]
    """U_k (d, p_k) with orthonormal columns."""
    labels: np.ndarray
    """Cluster of each token (N,), from 0."""
    origin: dict[str, Any]
    """Seeds and parameters, as draw.json of `attnlab sample` has them."""


def sample(
    tokens: int | None = None,
    clusters: int | None = None,
    dim: int | None = None,
    *,
    ambient: int | None = None,
    delta: float | None = None,
    relation: str | None = None,
    coherence: float | None = None,
    seed: int = 0,
    claim: str | None = None,
    trial: int = 0,
    **params: Any,
) -> Draw:
    """Draws tokens, bases and labels of the mixture of Definition 1: the draw of `attnlab sample`.

    By default N = 2000 tokens in K = 2 clusters of p = 100 dimensions, d = K p, delta at the upper end of (11), bases
    that are "orthonormal" together ("independent" and "coherent" are the other relations). With `claim`, trial `trial`
    of `check(claim, ...)` at the claim's parameters, so that a witness can be recomputed.

    >>> z, bases, labels, _ = sample(60, clusters=2, dim=5, delta=0.1, seed=1)
    >>> z.shape, bases[0].shape, labels.shape
    ((10, 60), (10, 5), (60,))
    """
    options = dict(
        tokens=tokens, clusters=clusters, dim=dim, ambient=ambient, delta=delta, relation=relation, coherence=coherence
    )
    if claim is not None:
        params.update({name: value for name, value in options.items() if value is not None})
    elif params:
        raise ValueError(f"{next(iter(params))}: must come with claim=; without one set tokens, clusters, dim and delta")
    return Draw(*_attnlab.sample(options, claim, params, seed, trial))


class Unrolled:
    """All layers of an unrolled network.

    `snr` (layers + 1, K): SNR (6) of every cluster, layer 0 is the input; None without labels. `redecided`
    (layers + 1,): decisions of a discontinuous φ that rounding could have changed and that were repeated in f64.
    `tokens` (d, N): Z after the last layer. `warnings`: oddities that are no errors.
    """

    def __init__(self, snr: np.ndarray | None, redecided: np.ndarray, tokens: np.ndarray, warnings: Any) -> None:
        self.snr, self.redecided, self.tokens, self.warnings = snr, redecided, tokens, warnings

    @property
    def layers(self) -> _show.Entries:
        """One dict per layer: the lines of `attnlab unroll --json`."""
        snr = self.snr if self.snr is not None else np.empty((len(self.redecided), 0))
        both = zip(snr.tolist(), self.redecided.tolist())
        return _show.Entries({"layer": i, "snr": s, "redecided": r} for i, (s, r) in enumerate(both))

    def __repr__(self) -> str:
        d, n = self.tokens.shape
        return f"Unrolled({len(self.redecided) - 1} layers, d = {d}, N = {n})"

    def _repr_html_(self) -> str:
        count = 0 if self.snr is None else self.snr.shape[1]
        header = ["layer", *(f"SNR of cluster {k}" for k in range(count))]
        return _show.table(header, ([entry["layer"], *entry["snr"]] for entry in self.layers))


def unroll(
    z: np.ndarray,
    bases: Sequence[np.ndarray],
    labels: Any = None,
    *,
    phi: str = "softmax",
    layers: int = 12,
    eta: float = 0.5,
    tau: float = 0.55,
    mask: str = "none",
    normalise_queries: bool = False,
    precision: str = "f64",
    progress: bool = False,
) -> Unrolled:
    """Runs the unrolled network Z <- Z + eta sum_k U_k U_k'Z phi(Z'U_k U_k'Z) and measures the SNR per layer.

    `z` (d, N), float64, read where it is in any order of memory (float32 is widened), of NumPy or of a library with DLPack
    or the buffer protocol, such as PyTorch and JAX; `bases` K arrays (d, p_k) with
    orthonormal columns; `labels` (N,) integers from 0, or None for no SNR. `mask` is "none" or "causal"; `precision`
    "f64" or "f32". Nothing of size (N, N) is ever in memory.

    Raises ValueError for a wrong shape or type, NaN, bases that are not orthonormal, a label without a basis.

    >>> z, bases, labels, _ = sample(60, dim=40, delta=0.05, seed=1)
    >>> found = unroll(z, bases, labels, phi="thresholded-softmax", tau=0.6, layers=3)
    >>> bool(abs(found.snr[3, 0] / found.snr[2, 0] - 1.3) < 1e-9)  # 1 + eta tau
    True
    """
    report = _show.receiver(progress)
    try:
        found = _attnlab.unroll(
            _array(z), _arrays(bases), _array(labels), phi, layers, eta, tau, mask, normalise_queries, precision, report
        )
    finally:
        report.close()
    return Unrolled(*found)


def horizon(
    tokens: Any = 20000,
    clusters: int = 2,
    dim: int = 1300,
    delta: float | None = None,
    *,
    bases: Sequence[np.ndarray] | None = None,
    labels: Any = None,
    eta: float = 0.5,
    tau: float = 0.55,
    seed: int = 0,
    progress: bool = False,
) -> dict[str, Any]:
    """Finds the exact depth to which Theorem 1 holds, as `attnlab horizon` does.

    `tokens` is N for a draw, or an array Z (d, N) beside `bases` and `labels`. Returns `theta_crit`, `exact_updates`,
    the `witness`, broken columns per layer, and the law as `predicted` (None for an array).

    >>> found = horizon(1000, dim=100, delta=0.03, seed=1)
    >>> found["witness"]["layer"] == found["exact_updates"]
    True
    """
    report = _show.receiver(progress)
    try:
        z = _array(tokens)
        if isinstance(z, np.ndarray):
            if bases is None or labels is None:
                raise ValueError("tokens: must come with the bases and labels of its draw. Add bases=.. and labels=..")
            return _attnlab.horizon_of_tokens(z, _arrays(bases), _array(labels), eta, tau, report)
        if bases is not None or labels is not None:
            raise ValueError("tokens: must be an array Z (d, N) beside bases and labels")
        return _attnlab.horizon_of_draw(tokens, clusters, dim, delta, eta, tau, seed, report)
    finally:
        report.close()


class Inspection(dict[str, Any]):
    """Findings of `inspect`, named as in docs/inspect.md: `clusters`, `dims`, `delta`, `verdict`, `hypotheses`, ..."""

    def __repr__(self) -> str:
        reasons = "; ".join(self["reasons"])
        return (
            f"{self['verdict']}{': ' + reasons if reasons else ''} (K = {self['clusters']}, p = {self['dims']}, "
            f"delta = {self['delta']:.4g} [{self['delta_low']:.4g}, {self['delta_high']:.4g}])"
        )

    def _repr_html_(self) -> str:
        plain = [(n, v) for n, v in self.items() if not isinstance(v, dict)]
        hypotheses = [
            (name, h["printed"], "holds" if h["holds"] else "fails", h["margin"], [h["margin_low"], h["margin_high"]])
            for name, h in self["hypotheses"].items()
        ]
        header = ["hypothesis", "printed", "", "margin", "at the ends of delta's interval"]
        return _show.table(["finding", "value"], plain) + _show.table(header, hypotheses)


def inspect(
    z: np.ndarray,
    *,
    tokens_are: str = "columns",
    bases: Sequence[np.ndarray] | None = None,
    labels: Any = None,
    clusters: int | None = None,
    most_clusters: int = 16,
    scale: str = "as-given",
    centre: bool = False,
    eta: float = 0.5,
    tau: float = 0.55,
    level: float = 0.95,
    test_level: float = 0.01,
    power_draws: int = 20,
    controls: bool = True,
    seed: int = 0,
    name: str = "z",
    progress: bool = False,
) -> Inspection:
    """Holds tokens against the theory: the fit of Definition 1, hypotheses of Theorem 1, horizon, SNR, controls.

    `z` is (d, N), or (N, d) with `tokens_are="rows"`. The findings are those of `attnlab inspect` on a file NAME.npy.

    >>> z = sample(600, dim=12, delta=0.1, seed=1).z
    >>> found = inspect(z, controls=False)
    >>> found["dims"], found["verdict"]
    ([12, 12], 'consistent')
    """
    if tokens_are not in ("columns", "rows"):
        raise ValueError(f"tokens_are = {tokens_are}: must be columns or rows")
    z = _array(z)
    if tokens_are == "rows" and isinstance(z, np.ndarray):
        z = z.T
    options = dict(
        clusters=clusters, most_clusters=most_clusters, scale=scale, centre=centre, eta=eta, tau=tau, level=level,
        test_level=test_level, power_draws=power_draws,
    )
    report = _show.receiver(progress)
    try:
        found = _attnlab.inspect_tokens(z, name, options, _arrays(bases), _array(labels), controls, seed, report)
        return Inspection(found)
    finally:
        report.close()
