"""The command line beside the package, and arrays that tests share."""

import json
import os
import subprocess
import sys

import pytest

import attnlab

#: Seconds until a process counts as hanging.
LIMIT = int(os.environ.get("ATTNLAB_TEST_SECONDS", 600))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Every test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def command():
    """Runs the command line and reads its lines of JSON."""
    words = [sys.executable, "-m", "attnlab"]

    def run(*arguments, status=0):
        done = subprocess.run([*words, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return run


@pytest.fixture(scope="session")
def draw():
    """Z (20, 120), two bases (20, 10), labels (120,)."""
    return attnlab.sample(120, clusters=2, dim=10, delta=0.05, seed=1)
