"""Small commands of attnlab and what they leave: the files of their folder and what they print."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = os.environ.get("ATTNLAB", "target/debug/attnlab")

# Seconds after which a command counts as hanging.
LIMIT = int(os.environ.get("ATTNLAB_TEST_SECONDS", 600))

# What depends on the clock: the seconds that a check took.
CLOCK = re.compile(rb'"wall_s":[^,}]*')

SWEEP = """claim = "aot.theorem1_bounded"
trials = {trials}
seed = {seed}
[axes]
tokens = [40, 60]
dim = [12, 16]
[set]
layers = 3
"""

# The experiment `snr_per_layer` at a size at which a trial takes milliseconds.
RUN = {
    "tokens": 40,
    "dim": 12,
    "layers": 3,
    "figure4_tokens": 20,
    "figure4_clusters": 2,
    "figure4_dim": 6,
}

# Two small trainings with a checkpoint at every fourth step.
TRAIN = {
    "dim": 3,
    "points": 6,
    "places": 8,
    "width": 8,
    "heads": 2,
    "layers.aot-mssa": 2,
    "layers.transformer": 1,
    "plan.steps": 60,
    "plan.batch": 4,
    "plan.checkpoint_every": 4,
    "plan.report_every": 4,
    "curriculum.dims.from": 1,
    "curriculum.dims.to": 3,
    "curriculum.dims.every": 4,
    "curriculum.points.from": 2,
    "curriculum.points.to": 6,
    "curriculum.points.every": 4,
    "evaluation.prompts": 8,
    "evaluation.longer": 7,
}


def settings(values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def start(arguments, folder):
    """Starts a command whose output goes into `folder`, which nothing else uses meanwhile."""
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        return subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=out, stderr=err)


def run(arguments, folder):
    """Runs a command to its end; returns its exit status, what it printed, and its messages."""
    status = start(arguments, folder).wait(LIMIT)
    return status, printed(folder), (folder / "stderr").read_text()


def printed(folder):
    return CLOCK.sub(b"", (folder / "stdout").read_bytes())


def complete(arguments, folder):
    """Runs a command that must succeed, and returns what it printed."""
    status, text, messages = run(arguments, folder)
    if status != 0:
        sys.exit(f"{PROGRAM} {' '.join(map(str, arguments))}: exit status {status}\n{messages}")
    return text


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def rows(folder):
    """Complete lines of the rows of a run."""
    path = folder / "rows.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def sweep_file(folder, seed, trials):
    path = folder / f"map-{seed}.toml"
    path.write_text(SWEEP.format(seed=seed, trials=trials))
    return path


def shards(folder, file):
    """A folder with the two finished shards of a sweep."""
    out = folder / "shards"
    for shard in ("0/2", "1/2"):
        complete(["sweep", file, "--out", out, "--shard", shard], folder)
    return out


def table(head, lines):
    """Prints a table in Markdown, each line when it is there."""
    for line in itertools.chain([head, ["---"] * len(head)], lines):
        print("|", " | ".join(map(str, line)), "|", flush=True)
