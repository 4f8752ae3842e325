"""The types of the package are sound, and those of its compiled part name what is there."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import attnlab

PACKAGE = Path(attnlab.__file__).parent
SETTINGS = Path(__file__).resolve().parents[1] / "pyproject.toml"


def test_the_types_name_every_function():
    assert (PACKAGE / "py.typed").exists()
    tree = ast.parse((PACKAGE / "_attnlab.pyi").read_text())
    named = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    named |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    there = {n for n in dir(attnlab._attnlab) if not n.startswith("__")} | {"__version__"}
    assert {n for n in named if not n.startswith(("_P", "_C"))} == there


@pytest.mark.parametrize(
    "checker, words",
    [
        ("mypy", ["--config-file", SETTINGS, SETTINGS.parent / "attnlab"]),
        ("pyright", ["--pythonpath", sys.executable, "--project", SETTINGS.parent]),
    ],
)
def test_a_checker_finds_nothing(checker, words):
    pytest.importorskip(checker)
    done = subprocess.run([sys.executable, "-m", checker, *words], capture_output=True, text=True)
    if "node" in done.stderr and not done.stdout:
        pytest.skip(f"{checker} cannot be run here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
