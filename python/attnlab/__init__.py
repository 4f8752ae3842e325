"""Checks of the mathematics of attention by simulation: claims with seeds, exact intervals, mutants and verdicts.

Arrays are NumPy arrays with tokens as columns: Z (d, N), bases U_k (d, p_k), labels (N,). Names and defaults are those
of the command line `attnlab`, which `python -m attnlab` runs. Errors are Python's own, with the library's message:
ValueError for input, ArithmeticError for a computation that failed, OSError and MemoryError for the machine.

>>> import attnlab
>>> attnlab.check("aot.lemma1").verdict
'supported'
>>> attnlab.eval("aot.min_tokens", clusters=2)
177515
"""

import atexit as _atexit

from ._attnlab import __version__, build
from ._attnlab import end as _end
from ._claims import (
    Mutant,
    Outcome,
    Paper,
    always,
    at_least,
    choice,
    claim,
    event,
    fails_at_most,
    flag,
    forget,
    gap,
    generator,
    mean_in,
    part,
    real,
    trial,
    uninformative,
    value,
    whole,
)
from ._functions import (
    Draw,
    Inspection,
    Unrolled,
    Verdict,
    check,
    eval,
    glossary,
    horizon,
    inspect,
    list,
    on_arrays,
    sample,
    show,
    unroll,
)
from ._runs import Figure, Figures, Rows, evaluate, figure, merge, report, rows, run, sweep, sweep_schema

_atexit.register(_end)

# Without `eval` and `list`, which `from attnlab import *` would put in place of Python's own.
__all__ = [
    "Draw",
    "Figure",
    "Figures",
    "Inspection",
    "Mutant",
    "Outcome",
    "Paper",
    "Rows",
    "Unrolled",
    "Verdict",
    "__version__",
    "always",
    "at_least",
    "build",
    "check",
    "choice",
    "claim",
    "evaluate",
    "event",
    "fails_at_most",
    "figure",
    "flag",
    "forget",
    "gap",
    "generator",
    "glossary",
    "horizon",
    "inspect",
    "mean_in",
    "merge",
    "on_arrays",
    "part",
    "real",
    "report",
    "rows",
    "run",
    "sample",
    "show",
    "sweep",
    "sweep_schema",
    "trial",
    "uninformative",
    "unroll",
    "value",
    "whole",
]
