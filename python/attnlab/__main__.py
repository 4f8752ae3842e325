"""The command `attnlab`, and `python -m attnlab`: the command line, with the claims of Python files.

    attnlab --catalogue my_theorems.py check mine.bound
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Sequence

from ._attnlab import command

#: What the help of the command line does not know.
HELP = """
Python:
  --catalogue FILE.py  Before a command: adds the claims that the file declares; may be repeated"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line over the claims of the library and of each file after `--catalogue`; returns the status."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    while words and words[0].split("=")[0] == "--catalogue":
        _, given, path = words.pop(0).partition("=")
        path = path if given or not words else words.pop(0)
        if not Path(path).is_file():
            print(f"error: catalogue = {path}: must be a Python file that declares claims", file=sys.stderr)
            return 2
        try:
            runpy.run_path(path, run_name="catalogue")
        except Exception:
            traceback.print_exc()
            print(f"error: catalogue = {path}: must run without an exception; see above", file=sys.stderr)
            return 2
    status = command(words)
    if words in (["--help"], ["-h"], ["help"]):
        print(HELP)
    return status


if __name__ == "__main__":
    sys.exit(main())
