"""Progress of long work, and small parts of HTML."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Iterable, Mapping, Sequence

#: Seconds after which a plain line of progress is written again.
PAUSE = 2.0


class Silent:
    """Receiver that shows only the lines of the library, such as one that says that a check takes long."""

    def line(self, text: str) -> None:
        print(text, file=sys.stderr)

    def update(self, label: str, done: int, total: int) -> None:
        pass

    def close(self) -> None:
        pass


class Plain(Silent):
    """Lines on standard error."""

    def __init__(self) -> None:
        self._told = time.monotonic()
        self._last: tuple[int, int] | None = None

    def update(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if total and now - self._told >= PAUSE and self._last != (done, total):
            self._told, self._last = now, (done, total)
            print(f"{label}: {done} of {total} trials", file=sys.stderr)


class Bar(Silent):
    """A bar of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def update(self, label: str, done: int, total: int) -> None:
        if not total:
            return
        if self._bar is None or self._bar.total != total or self._bar.desc.rstrip(": ") != label:
            self.close()
            self._bar = self._tqdm(total=total, desc=label, initial=done, unit="trial", leave=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def receiver(progress: bool) -> Silent:
    """Returns a bar where tqdm is installed, otherwise plain lines; with `progress=False` neither."""
    if not progress:
        return Silent()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Plain()
    return Bar(tqdm)


def cell(value: Any) -> str:
    """Formats a value for people."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {cell(v)}" for name, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(v) for v in value)
    return str(value)


def table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Writes a table as HTML."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(cell(v))}</td>" for v in line) + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Entries(list[dict[str, Any]]):
    """A list of dicts that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        names: list[str] = []
        for entry in self:
            names += [name for name, v in entry.items() if name not in names and not isinstance(v, (dict, list))]
        return table(names, ([entry.get(name, "") for name in names] for entry in self))
