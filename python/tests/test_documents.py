"""Examples of the docstrings, types, and the notebooks."""

import ast
import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import attnlab

MODULES = ["attnlab", "attnlab._functions", "attnlab._claims", "attnlab._runs", "attnlab._show"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL * 0)
    assert found.failed == 0


def test_everything_public_is_documented():
    for name in attnlab.__all__:
        found = getattr(attnlab, name)
        if callable(found):
            assert inspect.getdoc(found), name


def test_the_types_name_every_function():
    folder = Path(attnlab.__file__).parent
    assert (folder / "py.typed").exists()
    tree = ast.parse((folder / "_attnlab.pyi").read_text())
    named = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    named |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    there = {n for n in dir(attnlab._attnlab) if not n.startswith("__")} | {"__version__"}
    assert {n for n in named if not n.startswith("_P") and not n.startswith("_C")} == there


NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


@pytest.mark.parametrize("name", ["1-tour", "2-your-theorem", "3-your-activations"])
def test_notebooks(name, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    path = NOTEBOOKS / f"{name}.ipynb"
    if not path.exists():
        pytest.skip("no checkout")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
