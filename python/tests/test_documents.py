"""Examples of the docstrings, Python blocks of the pages, and notebooks run as they are printed."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import attnlab
from conftest import LIMIT

MODULES = ["attnlab", "attnlab._functions", "attnlab._claims", "attnlab._runs", "attnlab._show"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_documented():
    for name in attnlab.__all__:
        thing = getattr(attnlab, name)
        if callable(thing):
            assert inspect.getdoc(thing), name


DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["python.md", "python-from-script.md"]
NOT_RUN = "# not run: "


def missing(code):
    """Name of a package that the code imports and that is not installed, or None."""
    for node in ast.walk(ast.parse(code)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        for name in names:
            root = name.split(".")[0]
            if importlib.util.find_spec(root) is None:
                return root
    return None


class Page:
    """Python blocks of a page, which run in their order, in one namespace and one folder."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        found = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        # Line of each block in its page, and its code.
        self.blocks = [(text.count("\n", 0, block.start(1)) + 1, block[1]) for block in found]
        self.namespace = {"__name__": "__main__"}
        self.done = 0

    def reason(self, index):
        """Reason for which a block does not run, or None."""
        code = self.blocks[index][1]
        if code.startswith(NOT_RUN):
            return code.splitlines()[0].removeprefix(NOT_RUN)
        absent = missing(code)
        return absent and f"{absent} is not installed"

    def run(self, index, folder):
        """Runs the blocks up to this one that have not run."""
        while self.done <= index:
            line, code = self.blocks[self.done]
            # Each is run once, also one that fails.
            self.done += 1
            if self.reason(self.done - 1) is None:
                # The source of a claim is read from its file; its lines are those of the page.
                file = folder / f"line_{line}.py"
                file.write_text("\n" * (line - 1) + code, encoding="utf-8")
                exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), self.namespace)


READ = {name: Page(DOCS / name) for name in PAGES if (DOCS / name).exists()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for each page, and no claims of the pages afterwards."""
    before = {entry["id"] for entry in attnlab.list()}
    yield {name: tmp_path_factory.mktemp("page") for name in READ}
    for claim in {entry["id"] for entry in attnlab.list()} - before:
        attnlab.forget(claim)


@pytest.mark.parametrize(
    "name, index",
    [
        pytest.param(name, i, id=f"{name}:{line}")
        for name, page in READ.items()
        for i, (line, _) in enumerate(page.blocks)
    ],
)
def test_blocks_of_the_pages(name, index, folders, monkeypatch):
    reason = READ[name].reason(index)
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.chdir(folders[name])
    READ[name].run(index, folders[name])


@pytest.mark.parametrize("path", sorted(DOCS.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "outputs must not be stored"
    for cell in cells:
        if absent := missing(cell.source):
            pytest.skip(f"{absent} is not installed")
    client = nbclient.NotebookClient(notebook, timeout=LIMIT, startup_timeout=LIMIT, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
