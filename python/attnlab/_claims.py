"""Claims written in Python.

A claim is a function of a trial with its hypotheses, its promise and its mutants. The library runs it like one of its
own: seeds, intervals, mutants' power, sweeps that resume and shard, reports.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect as _inspect
import numbers
import pickle
import re
import textwrap
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from . import _attnlab


class Outcome(NamedTuple):
    """Outcome of a trial; `event`, `gap`, `value` and `uninformative` make them."""

    kind: str
    parts: tuple[Any, ...]
    witness: dict[str, Any]


def event(holds: bool, /, **witness: Any) -> Outcome:
    """Returns the outcome of an event that holds or not, with named values that were seen.

    >>> event(True, layer=3).kind
    'event'
    """
    return Outcome("event", (bool(holds),), witness)


def gap(lhs: float, rhs: float, tol: float, /, relation: str = "at-most", **witness: Any) -> Outcome:
    """Returns the two sides of a bound (lhs <= rhs + tol) or, with relation "equal", of an identity.

    `tol` bounds the rounding error of the computation.

    >>> gap(1.0, 1.0 + 1e-12, 1e-9, "equal").kind
    'gap'
    """
    return Outcome("gap", (float(lhs), float(rhs), float(tol), relation), witness)


def value(x: float, /, **witness: Any) -> Outcome:
    """Returns a number whose mean the statement predicts.

    >>> value(0.5).kind
    'value'
    """
    return Outcome("value", (float(x),), witness)


def uninformative(reason: str, /, **witness: Any) -> Outcome:
    """Returns the outcome of a trial that says nothing about the statement, with the reason.

    >>> uninformative("nothing moved").kind
    'uninformative'
    """
    return Outcome("uninformative", (str(reason),), witness)


def always() -> tuple[Any, ...]:
    """Promises that every trial holds.

    >>> always()
    ('always',)
    """
    return ("always",)


def at_least(probability: float) -> tuple[Any, ...]:
    """Promises that a trial holds with at least this probability.

    >>> at_least(0.9)
    ('at-least', 0.9)
    """
    return ("at-least", float(probability))


def fails_at_most(probability: float) -> tuple[Any, ...]:
    """Promises that a trial fails with at most this probability.

    >>> fails_at_most(1e-20)
    ('fails-at-most', 1e-20)
    """
    return ("fails-at-most", float(probability))


def mean_in(low: float, high: float) -> tuple[Any, ...]:
    """Promises that the mean of the values lies in [low, high].

    >>> mean_in(0.45, 0.55)
    ('mean-in', 0.45, 0.55)
    """
    return ("mean-in", float(low), float(high))


def real(
    default: float | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    low_in: bool = True,
    high_in: bool = True,
    symbol: str = "",
    meaning: str = "a number",
    unit: str = "",
) -> dict[str, Any]:
    """Declares a parameter that is a finite number; the flags say whether the ends belong to the range. Without a
    default it is required.

    >>> real(0.5, low=0, high=1, low_in=False)["kind"]
    'number'
    """
    return dict(
        kind="number", default=default, low=low, high=high, low_in=low_in, high_in=high_in, symbol=symbol,
        meaning=meaning, unit=unit,
    )


def whole(
    default: int | None = None,
    *,
    low: int = 1,
    high: int | None = None,
    symbol: str = "",
    meaning: str = "a whole number",
    unit: str = "",
) -> dict[str, Any]:
    """Declares a parameter that is a whole number from `low` to `high`.

    >>> whole(64, symbol="N", meaning="number of tokens")["low"]
    1
    """
    return dict(kind="whole", default=default, low=low, high=high, symbol=symbol, meaning=meaning, unit=unit)


def choice(default: str | None, words: Sequence[str], *, symbol: str = "", meaning: str = "a word") -> dict[str, Any]:
    """Declares a parameter that is one of some words.

    >>> choice("softmax", ["softmax", "hardmax"])["words"]
    ['softmax', 'hardmax']
    """
    return dict(kind="choice", default=default, words=[*words], symbol=symbol, meaning=meaning)


def flag(default: bool, *, symbol: str = "", meaning: str = "a flag") -> dict[str, Any]:
    """Declares a parameter that is true or false.

    >>> flag(False)["kind"]
    'flag'
    """
    return dict(kind="flag", default=default, symbol=symbol, meaning=meaning)


@dataclass(frozen=True)
class Paper:
    """Paper of a statement."""

    title: str
    authors: str = ""
    year: int = 0
    key: str = ""
    venue: str = ""
    link: str = ""

    def _as_dict(self) -> dict[str, Any]:
        key = self.key or "-".join(self.title.lower().split()[:4])
        venue = self.venue or (str(self.year) if self.year else "")
        return dict(key=key, title=self.title, authors=self.authors, year=self.year, venue=venue, link=self.link)


@dataclass(frozen=True)
class Mutant:
    """False variant of a claim, which the default number of trials must refute.

    It has the trial of the claim, unless `trial` is another, and its promise, unless `promise` is another; `set` are
    the parameters at which it is judged.

    >>> Mutant("loaded", "$P(H) = 3/5$.", promise=mean_in(0.55, 0.65)).name
    'loaded'
    """

    name: str
    says: str
    trial: Callable[..., Any] | None = None
    promise: Any = None
    set: Mapping[str, Any] = field(default_factory=dict)


class _Params(dict[str, Any]):
    """Parameters of a trial: a dict whose names are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the claim has no parameter {name}; it has {', '.join(self)}") from None


def generator(seed: int = 0, claim: str = "", cell: int = 0, trial: int = 0, part: str = "trial") -> np.random.Generator:
    """Returns the generator of a trial outside a run: part `part` of trial `trial` of `claim` under `seed`.

    Its bits are those of the library's stream of the same key, on every machine and in every version.

    `cell` is the number of the parameters: `int(text, 16)` of the column `cell` of `rows`.

    >>> a, b = generator(5, "mine.claim", trial=2), generator(5, "mine.claim", trial=2)
    >>> bool(a.random() == b.random())
    True
    """
    for name, number in (("seed", seed), ("cell", cell), ("trial", trial)):
        if not 0 <= number < 2**64:
            raise ValueError(f"{name} = {number}: must be a whole number from 0 to 2^64 - 1")
    stream: Any = _attnlab.Stream(seed, claim, cell, trial, part)  # Not of NumPy's own class.
    return np.random.Generator(stream)


def part(rng: np.random.Generator, name: str, index: int = 0) -> np.random.Generator:
    """Returns another named part of the streams of the same trial, from its beginning.

    Parts are independent, so that they may be drawn in any order, or alone.

    >>> rng = generator(5)
    >>> bool(part(rng, "basis", 1).random() == part(rng, "basis", 1).random())
    True
    """
    stream: Any = rng.bit_generator
    return np.random.Generator(stream.part(name, index))


def _outcome(found: Any, where: str) -> tuple[Any, ...]:
    if isinstance(found, Outcome):
        return (found.kind, *found.parts, found.witness)
    if isinstance(found, (bool, np.bool_)):
        return ("event", bool(found), {})
    if isinstance(found, numbers.Real):
        return ("value", float(found), {})
    raise TypeError(
        f"{where} returned {type(found).__name__}: must be a flag (the event), a number (a value), or attnlab.event(..), "
        f"gap(..), value(..) or uninformative(..)"
    )


def _wrapped(trial: Callable[..., Any], where: str, block: int) -> Callable[..., Any]:
    def run(p: Any, rng: Any) -> tuple[Any, ...]:
        return _outcome(trial(p, rng), where)

    def run_block(p: Any, rng: Any, trials: int) -> tuple[str, list[Any]]:
        found = trial(p, rng, trials)
        if isinstance(found, np.ndarray) and found.shape == (trials,) and found.dtype.kind in "bfiu":
            return ("events", found.tolist()) if found.dtype.kind == "b" else ("values", found.astype(float).tolist())
        if isinstance(found, np.ndarray):
            raise TypeError(f"{where} returned an array {found.shape} of {found.dtype}: must be ({trials},), of flags or numbers")
        if not isinstance(found, Sequence) or len(found) != trials:
            shape = f"{len(found)} outcomes" if isinstance(found, Sequence) else type(found).__name__
            raise TypeError(f"{where} returned {shape}: must be an array ({trials},) or as many outcomes, one per trial")
        return "outcomes", [_outcome(one, where) for one in found]

    return run if block == 1 else run_block


def _code(trial: Callable[..., Any], block: int) -> str:
    """Hash of what the trial does: its source and that of the functions of its module that it calls, with the plain
    values that they take from the module or from around them."""
    found = [f"block = {block}"]
    seen: set[int] = set()

    def add(name: str, thing: Any) -> None:
        if isinstance(thing, (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))):
            found.append(f"{name} = {thing!r}")
        elif isinstance(thing, types.FunctionType) and thing.__module__ == trial.__module__ and id(thing) not in seen:
            seen.add(id(thing))
            found.append(_source(thing))
            outside = _inspect.getclosurevars(thing)
            for one in (outside.nonlocals, outside.globals):
                for own in sorted(one):
                    add(own, one[own])

    add("trial", trial)
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def _source(function: types.FunctionType) -> str:
    """Source of a function, or its bytecode where there is no source."""
    try:
        text = textwrap.dedent(_inspect.getsource(function))
    except OSError:
        code = function.__code__
        return repr((code.co_code, code.co_consts, code.co_names))
    # Without decorators: what they say is not what the rows hold.
    return text[max(text.find("def "), 0) :]


def _param(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {"name": name, **given}
    if isinstance(given, bool):
        return {"name": name, **flag(given)}
    if isinstance(given, numbers.Integral):
        return {"name": name, **whole(int(given), low=min(1, int(given)))}
    if isinstance(given, numbers.Real):
        return {"name": name, **real(float(given))}
    raise TypeError(f"params[{name!r}]: must be a default, or attnlab.real(..), whole(..), choice(..) or flag(..)")


def _hypothesis(entry: Any) -> tuple[str, str, Callable[..., float]]:
    parts = (entry[0], *entry) if len(entry) == 2 else tuple(entry)
    name, printed, margin = parts
    return str(name), str(printed), margin


def claim(
    id: str,
    *,
    statement: str,
    params: Mapping[str, Any] | None = None,
    hypotheses: Iterable[Any] = (),
    promise: Any = ("always",),
    mutants: Iterable[Mutant] = (),
    trials: int = 40,
    title: str | None = None,
    kind: str = "bound",
    expected: str = "supported",
    own: bool = True,
    paper: Paper | None = None,
    place: str = "this session",
    tolerance: str | None = None,
    seconds: float = 0.0,
    memory: int = 0,
    block: int = 1,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a claim of a function `trial(p, rng)` and adds it to the catalogue of this process, under `id`.

    `p` has the parameters (`p.dim` or `p["dim"]`); `rng` is a NumPy generator made from the trial's stream: the same
    (seed, id, parameters, trial) gives the same bits. The trial returns a flag (the event of a "with probability"
    statement), a number (whose mean the statement predicts), or `event`, `gap`, `value`, `uninformative` with named
    values. It must be a pure function of `p` and `rng`. Trials run one after another.

    `params`: defaults, or `real`, `whole`, `choice`, `flag`. `hypotheses`: (printed form, margin) or (name, printed
    form, margin), the margin a function of `p`, signed, negative where it fails. `promise`: `always()`,
    `at_least(q)`, `fails_at_most(eps)`, `mean_in(low, high)`, or a function of `p` that returns one. `mutants`: false
    variants. `trials`: default number. `seconds` and `memory` (bytes) of a trial let the library refuse what does not
    fit.

    `block`: the function makes that many trials at a time, as arrays with the trials along the first axis. It is called
    as `trial(p, rng, trials)` and returns an array (trials,) of flags or numbers, or a list of outcomes. Blocks are made
    whole, each from the stream of its first trial, so that a shard makes every block of which it owns a trial.

    An exception of a function ends the run and is raised; ArithmeticError and numpy.linalg.LinAlgError make the trial
    uninformative. Defining the same id again replaces the claim. Rows of a trial with other source are not resumed.

    Raises ValueError where the parts do not fit together.

    >>> @claim(
    ...     "doc.fair",
    ...     statement="$P(H) = 1/2$.",
    ...     params={"heads": real(0.5, low=0, high=1, symbol="p", meaning="probability of heads")},
    ...     promise=mean_in(0.45, 0.55),
    ...     mutants=[Mutant("loaded", "$P(H) = 3/5$.", promise=mean_in(0.55, 0.65))],
    ...     trials=2000,
    ...     kind="law",
    ... )
    ... def fair(p, rng):
    ...     return float(rng.random() < p.heads)
    >>> import attnlab
    >>> attnlab.check("doc.fair").verdict
    'supported'
    >>> attnlab.forget("doc.fair")
    """

    given = {name: value for name, value in locals().items() if name != "id"}

    def register(trial: Callable[..., Any]) -> Callable[..., Any]:
        if not re.fullmatch(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_.]*", id):
            raise ValueError(f"id = {id}: must be FAMILY.NAME of small letters, digits and _, such as mine.fair")
        for one in (trial, *(m.trial for m in given["mutants"] if m.trial is not None)):
            if not isinstance(one, types.FunctionType):
                raise TypeError(f"the trial of {id} = {one!r}: must be a function (def or lambda), whose code rows name")
        received = _RECEIVED.get(id)

        def code() -> str:
            return received or _code(trial, block)

        where = f"the trial of {id}"
        run = _wrapped(trial, where, block)
        of_mutant = [
            dict(
                name=m.name,
                says=m.says,
                trial=run if m.trial is None else _wrapped(m.trial, f"{where}, mutant {m.name},", block),
                promise=promise if m.promise is None else m.promise,
                set=dict(m.set),
            )
            for m in given["mutants"]
        ]
        _attnlab.register(
            dict(
                id=id,
                title=title or (trial.__doc__ or statement).strip().splitlines()[0],
                statement=statement,
                kind=kind,
                expected=expected,
                own=own,
                paper=(paper or Paper("Claims written in Python", key="python"))._as_dict(),
                place=place,
                tolerance=tolerance,
                params=[_param(name, given) for name, given in (params or {}).items()],
                hypotheses=[_hypothesis(entry) for entry in hypotheses],
                promise=promise,
                trial=run,
                mutants=of_mutant,
                trials=trials,
                seconds=float(seconds),
                memory=int(memory),
                block=block,
                code=code,
                parameters=_Params,
                generator=np.random.Generator,
            )
        )
        _DECLARED[id] = (code, given, trial)
        trial.claim = id  # type: ignore[attr-defined]
        return trial

    return register


#: Claims of this process: code, arguments of `claim`, trial.
_DECLARED: dict[str, tuple[Callable[[], str], dict[str, Any], Callable[..., Any]]] = {}
#: Code of the claims that another process has sent: their source may not be here.
_RECEIVED: dict[str, str] = {}


def packed(id: str) -> bytes | None:
    """Pickles a claim for another process; None for one of the library, which every process has.

    Raises ValueError for a claim that cannot be pickled.
    """
    if id not in _DECLARED:
        return None
    pickler: Any = pickle
    with contextlib.suppress(ImportError):
        # Functions of notebooks too; Dask and submitit bring it.
        pickler = importlib.import_module("cloudpickle")
    try:
        code, given, trial = _DECLARED[id]
        return bytes(pickler.dumps((id, code(), given, trial)))
    except Exception as error:
        raise ValueError(f"{id}: must be pickled for another process ({error}). Install cloudpickle") from error


def unpack(sent: bytes) -> None:
    """Declares a claim that another process has packed."""
    try:
        id, code, given, trial = pickle.loads(sent)
    except Exception as error:
        raise ValueError(f"a claim cannot be read in this process ({error}). Install cloudpickle") from error
    if id not in _DECLARED or _DECLARED[id][0]() != code:
        _RECEIVED[id] = code
        try:
            claim(id, **given)(trial)
        finally:
            del _RECEIVED[id]


def trial(name: str, number: int, *, seed: int = 0, set: Mapping[str, Any] | None = None, **params: Any) -> Outcome:
    """Runs one trial of any claim alone, in this thread: the trial of this number of `check` under the same seed.

    An exception of a trial names this call, with which a debugger stops where it was raised.

    Raises ValueError for an unknown claim or parameter, and what the trial raises.

    >>> trial("aot.lemma1", 3) == trial("aot.lemma1", 3)
    True
    """
    kind, parts, witness = _attnlab.run_trial(name, number, seed, {**(set or {}), **params})
    return Outcome(kind, tuple(parts), witness)


def forget(id: str) -> None:
    """Removes a claim that was written in Python from the catalogue of this process.

    >>> forget("nothing.of_this_name")
    """
    _DECLARED.pop(id, None)
    _attnlab.forget(id)
