"""Starts two commands on one folder, the second at a random instant of the first, and checks what both leave.

    ATTNLAB=target/debug/attnlab python3 experiments/interruptions/pairs.py 200 --seed 1

The commands are sweeps (of two seeds), a run, a merge into the folder and out of it, an export and a report, with and
without --force. All ordered pairs of them are shuffled and taken in turn, on a folder that is empty or has a whole or
half run of either kind. Then

- each command has succeeded and printed what it prints alone, or has refused with exit status 2 and a message;
- the rows are those of one run; if a command has succeeded that computes or merges this run, all of them are there, and
  summary and pictures are those of this run;
- the rows that were there are there, unless a command with --force has succeeded;
- tables, pages and merged rows are those of one run;
- the command of the run goes on to its rows, byte for byte.

The instants are random by intent; the verdict holds for each of them. Exit status 1: one of these is broken, and the
folder is kept.
"""

import argparse
import collections
import csv
import io
import itertools
import json
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from commands import LIMIT, RUN, complete, empty, printed, rows, run, settings, shards, start, sweep_file, table


class Pairs:
    """The commands on the folder `out`, what each leaves alone, and the states of the folder to begin with."""

    def __init__(self, folder):
        self.folder, self.out, self.merged = folder, folder / "out", folder / "merged"
        self.page = folder / "page.html"
        self.beside = [empty(folder / "first"), empty(folder / "second")]
        file = sweep_file(folder, 5, trials=60)
        out = ["--out", self.out]
        # Commands that write a run into the folder, and the name of that run.
        writers = {
            "sweep": (["sweep", file, *out], "sweep"),
            "other sweep": (["sweep", sweep_file(folder, 6, trials=60), *out], "other sweep"),
            "run": (["run", "snr_per_layer", "--seed", "7", *settings(RUN | {"trials": 60}), *out], "run"),
            "merge": (["merge", shards(folder, file), *out], "sweep"),
        }
        readers = {
            "export": ["export", self.out],
            "export --force": ["export", self.out, "--force"],
            "report": ["report", self.out, "--out", self.page],
            "merge out": ["merge", self.out, "--out", self.merged],
        }
        forced = {f"{name} --force": ([*words, "--force"], of) for name, (words, of) in writers.items()}
        self.run_of = {name: of for name, (_, of) in (writers | forced).items()}
        self.commands = {name: words for name, (words, _) in (writers | forced).items()} | readers
        self.alone, self.seconds, self.rows, self.summaries, self.tables, self.pages = {}, {}, {}, {}, {}, {}
        self.states = [{}]
        for name in writers:
            empty(self.out)
            begun = time.monotonic()
            self.alone[name] = self.alone[f"{name} --force"] = complete(self.commands[name], folder)
            self.seconds[name] = self.seconds[f"{name} --force"] = time.monotonic() - begun
            if name == "merge":
                continue
            whole = {path.name: path.read_bytes() for path in self.out.iterdir() if path.is_file()}
            self.rows[name], self.summaries[name] = rows(self.out), self.summary()
            half = b"\n".join(self.rows[name][: len(self.rows[name]) // 2]) + b'\n{"sch'
            self.states += [whole, {file: whole[file] for file in ("run.json", "made-by.json")} | {"rows.jsonl": half}]
            for reader in readers:
                begun = time.monotonic()
                self.alone[reader] = complete(readers[reader], folder)
                self.seconds[reader] = time.monotonic() - begun
                shutil.rmtree(self.merged, ignore_errors=True)
            self.tables[name] = {self.key(line): line for line in self.table()}
            self.pages[name] = self.pictures()

    def known(self, run):
        """Names of the files of a summary, and of the pictures of a run."""
        return {"cells.jsonl", "cells.csv", *self.summaries[run]}

    def summary(self):
        """Summary and pictures of the run in the folder."""
        paths = [self.out / "cells.jsonl", self.out / "cells.csv", *self.out.glob("*.svg")]
        return {path.name: path.read_bytes() for path in paths if path.exists()}

    def table(self):
        """Lines of the table that `export` has written."""
        path = self.out / "rows.csv"
        return list(csv.DictReader(io.StringIO(path.read_text()))) if path.exists() else []

    @staticmethod
    def key(line):
        return line["id"], line["seed"], line["cell"], line["trial"]

    def pictures(self):
        """Pictures of the page that `report` has written."""
        return re.findall(r"<svg.*?</svg>", self.page.read_text(), re.DOTALL)

    def run_there(self):
        """Name of the run in the folder, None if there is none."""
        path = self.out / "run.json"
        if not path.exists():
            return None
        manifest = json.loads(path.read_text())
        names = {("aot.theorem1_bounded", 5): "sweep", ("aot.theorem1_bounded", 6): "other sweep"}
        return names.get((manifest["id"], manifest["seed"]), "run")

    def interleave(self, names, state, share):
        """Starts both commands, the second after this share of the time of the first. Returns exit statuses, messages
        and what is wrong."""
        empty(self.out)
        shutil.rmtree(self.merged, ignore_errors=True)
        self.page.unlink(missing_ok=True)
        for name, content in state.items():
            (self.out / name).write_bytes(content)
        there, before = self.run_there(), rows(self.out)
        first = start(self.commands[names[0]], self.beside[0])
        time.sleep(share * self.seconds[names[0]])
        second = start(self.commands[names[1]], self.beside[1])
        statuses = [process.wait(LIMIT) for process in (first, second)]
        messages = [(folder / "stderr").read_text() for folder in self.beside]
        done = {name for name, status in zip(names, statuses) if status == 0}
        wrong = []
        for name, status, message, folder in zip(names, statuses, messages, self.beside):
            if status == 0 and name in self.run_of and printed(folder) != self.alone[name]:
                wrong.append(f"{name} printed something else than alone")
            if status not in (0, 2) or status == 2 and "error: " not in message or "panicked" in message:
                wrong.append(f"{name} ended with exit status {status}: {message}")
        wrong += self.rows_wrong(done, there, before)
        wrong += self.readers_wrong(done)
        now = self.run_there()
        if now:
            status, _, message = run(self.commands[now], self.folder)
            if status != 0 or rows(self.out) != self.rows[now]:
                wrong.append(f"{now} does not go on to its rows: exit status {status}: {message}")
        return statuses, messages, wrong

    def rows_wrong(self, done, there, before):
        now, lines = self.run_there(), rows(self.out)
        writers = {name for name in done if name in self.run_of}
        if now is None:
            return ["no run is left"] if there or writers or lines else []
        wrong = []
        if len(set(lines)) < len(lines) or not set(lines) <= set(self.rows[now]):
            wrong.append(f"rows that are not those of {now}")
        of = {self.run_of[name] for name in writers}
        if of and now not in of:
            wrong.append(f"the folder holds {now}")
        if now in of and lines != self.rows[now]:
            wrong.append(f"{len(lines)} of {len(self.rows[now])} rows")
        # Pictures of another experiment stay in the folder under --force.
        summary = {name: content for name, content in self.summary().items() if name in self.known(now)}
        if now in of and summary != self.summaries[now]:
            wrong.append(f"a summary or pictures that are not those of {now}")
        kept = there in (None, now) and set(before) <= set(lines)
        if not kept and not any("--force" in name for name in writers):
            wrong.append("rows that were there are gone")
        return wrong

    def readers_wrong(self, done):
        wrong = []
        if any(name.startswith("export") for name in done):
            lines = self.table()
            of = lambda whole: all(is_part(line, whole.get(self.key(line), {})) for line in lines)
            if not any(of(whole) for whole in self.tables.values()):
                wrong.append("a table that is not of one run")
        if "report" in done and self.pictures() not in [[], *self.pages.values()]:
            wrong.append("a page that is not of one run")
        if "merge out" in done and rows(self.merged) not in self.rows.values():
            wrong.append("merged rows that are not those of a run")
        return wrong


def is_part(line, whole):
    """Tells whether a line of a table is one of another, whose other rows may have further columns."""
    return all(value in ("", whole.get(name)) for name, value in line.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("interleavings", type=int, help="number of pairs of commands")
    parser.add_argument("--seed", type=int, default=0, help="seed of the pairs and instants")
    given = parser.parse_args()
    draws = random.Random(given.seed)
    counts, refusals, broken = collections.defaultdict(collections.Counter), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        pairs = Pairs(Path(folder))
        left = []
        for _ in range(given.interleavings):
            if not left:
                left = list(itertools.product(pairs.commands, repeat=2))
                draws.shuffle(left)
            names, state, share = left.pop(), draws.choice(pairs.states), draws.random()
            statuses, messages, wrong = pairs.interleave(names, state, share)
            for name, status, message in zip(names, statuses, messages):
                counts[name][status] += 1
                for line in message.splitlines():
                    if line.startswith("error: "):
                        refusals[re.sub(r"\d+", "N", line.replace(folder, "").replace("error: ", ""))] += 1
            if wrong:
                broken += 1
                kept = shutil.copytree(folder, tempfile.mkdtemp(prefix="pairs-"), dirs_exist_ok=True)
                print(f"{', then '.join(names)}: {'; '.join(wrong)}: {kept}", flush=True)
    table(["command", "started", "succeeded", "refused"], [[n, c.total(), c[0], c[2]] for n, c in counts.items()])
    print()
    table(["refusal", "times"], refusals.most_common())
    print(f"\n{given.interleavings} interleavings of two commands, {broken} broken")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
