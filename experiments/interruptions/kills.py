"""Kills commands at random instants until each has ended, and compares all that is left with an undisturbed run.

    ATTNLAB=target/debug/attnlab python3 experiments/interruptions/kills.py 500 --seed 1

A command is started, killed by SIGKILL after a time drawn uniformly from the time that an undisturbed one takes,
started again, and so on until it ends before it is killed, or has been killed four times. Files (rows, tables,
pictures, checkpoints) and standard output must then be those of the undisturbed command, byte for byte, but for the
seconds that checks took and the order within PDFs. The instants are random by intent; the verdict holds for each of
them. Exit status 1: something differs, and its folder is kept.
"""

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import (
    CLOCK,
    LIMIT,
    RUN,
    TRAIN,
    complete,
    empty,
    printed,
    rows,
    run,
    settings,
    shards,
    start,
    sweep_file,
    table,
)

# Files that name the process or the day.
OF_THE_DAY = {"run.lock", "made-by.json", "report.html"}

# Kills of a command after which it may end: those that follow would fall on its pictures alone.
MOST = 4

# Temporary files of pictures and of the report, which a kill leaves beside them; `attnlab repair` deletes them.
LEFT = re.compile(r"\..*\.(svg|pdf|png|csv|html)\.\d+-\d+\.part")


def commands(folder, out):
    """Name and arguments of every command."""
    file = sweep_file(folder, 5, trials=500)
    claims = ["aot.mssa_is_mhsa", "aot.lemma1", "joma.lemma5", "lsa.limit"]
    named = {
        "sweep": ["sweep", file, "--threads", "2", "--out", out],
        "run": ["run", "snr_per_layer", *settings(RUN | {"trials": 300}), "--out", out],
        "reproduce": ["reproduce", "--only", *claims, "--out", out],
        "check": ["check", "--json", "--trials", "30", *claims],
        "train": ["train", "icl", "--quick", *settings(TRAIN), "--out", out],
        "merge": ["merge", shards(folder, file), "--out", out],
    }
    status, _, messages = run(named["train"], folder)
    if status == 2 and "lacks the feature train" in messages:
        print("train: left out; it needs a build with --features train")
        del named["train"]
    return named


def results(out, folder):
    """All that a command has left: the files of its folder and what it has printed."""
    paths = [path for path in out.rglob("*") if path.is_file() and path.name not in OF_THE_DAY]
    files = {str(path.relative_to(out)): content(path) for path in paths if not LEFT.fullmatch(path.name)}
    return files | {"standard output": printed(folder)}


def content(path):
    """Bytes of a file; of a PDF, which is drawn from the SVG and whose parts have no order, their number."""
    return path.stat().st_size if path.suffix == ".pdf" else CLOCK.sub(b"", path.read_bytes())


def differences(results, whole):
    return sorted(name for name in results.keys() | whole.keys() if results.get(name) != whole.get(name))


def kill(process, seconds):
    """Kills a process after so many seconds; returns False if it has ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL


def test(arguments, out, folder, kills, draws):
    """Kills a command so many times; returns the line of the table."""
    empty(out)
    begun = time.monotonic()
    complete(arguments, folder)
    duration = time.monotonic() - begun
    whole, all_rows = results(out, folder), len(rows(out))
    killed, ends, different = {"before": 0, "between": 0, "after": 0}, 0, 0
    while sum(killed.values()) < kills:
        empty(out)
        process = start(arguments, folder)
        for _ in range(min(MOST, kills - sum(killed.values()))):
            if not kill(process, draws.uniform(0, duration)):
                break
            written = len(rows(out))
            killed["before" if written == 0 else "between" if written < all_rows else "after"] += 1
            process = start(arguments, folder)
        status = process.wait(LIMIT)
        ends += 1
        found = differences(results(out, folder), whole)
        if status != 0 or found:
            different += 1
            kept = shutil.copytree(folder, tempfile.mkdtemp(prefix="kills-"), dirs_exist_ok=True)
            print(f"exit status {status}, {', '.join(found)}: {kept}", flush=True)
    return [f"{duration:.1f} s", kills, *killed.values(), ends, different]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kills", type=int, help="number of kills, divided among the commands")
    parser.add_argument("--seed", type=int, default=0, help="seed of the instants")
    parser.add_argument("--only", nargs="+", help="names of commands")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        out = folder / "out"
        chosen = {name: words for name, words in commands(folder, out).items() if not given.only or name in given.only}
        different = []

        def lines():
            for i, (name, arguments) in enumerate(chosen.items()):
                kills = given.kills // len(chosen) + (i < given.kills % len(chosen))
                # A stream for each command, so that one is the same whatever the others do.
                draws = random.Random(f"{given.seed} {name}")
                line = test(arguments, out, folder, kills, draws)
                different.append(line[-1])
                yield [name, *line]

        phases = ["before the first row", "between rows", "after the last row"]
        table(["command", "takes", "kills", *phases, "ends", "different"], lines())
    sys.exit(any(different))


if __name__ == "__main__":
    main()
