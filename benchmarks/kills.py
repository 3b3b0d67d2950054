"""Kill commands at random moments and look at what is left: ``python benchmarks/kills.py --kills 240``.

Each command runs in a forked process (so that a run is work and not imports) and is killed with SIGKILL: every other time
after a random part of the time that a whole run takes, otherwise when it is about to make a random one of its changes to
files. After each kill the result on disk must be the old one or the new one, whole; after each third kill the
command runs to its end, must give the bytes of a run that was never killed, and must leave no temporary file.

One row per kill is appended to ``results/kills.csv``; a second call goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from common import RESULTS
from grande_gnn import Labelling, baselines, experiments, labelling, report  # noqa: F401 - before the forks
from grande_gnn.cli import main as grande
from grande_gnn.internal.features_file import load_features

FIELDS = ["command", "kill", "how", "moment", "status", "left", "again", "temporary_files"]
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
FAST = ("--extractor", "pixels", "--workers", "2", "--device", "cpu")
FEW = ("--folds", "3", "--repeats", "1", "--device", "cpu")


class Command:
    """A command line with what it writes; ``OUT`` is the place that is looked at."""

    def __init__(self, name: str, root: Path, *arguments: str) -> None:
        self.name, self.out, self.arguments = name, root / name.replace(" ", ""), list(arguments)
        self.store = root / f"{self.out.name}-store"
        self.old: dict[str, Any] | None = None
        self.whole: dict[str, Any] = {}

    def line(self) -> list[str]:
        places = {"OUT": str(self.out), "FILE": str(self.out / "f.npz"), "STORE": str(self.store)}
        return [places.get(argument, argument) for argument in self.arguments]

    def clear(self) -> None:
        """The state before the first run."""
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.rmtree(self.store, ignore_errors=True)
        if self.name == "extract":
            self.out.mkdir()
        if "--overwrite" in self.name:
            shutil.copytree(self.out.with_name("earlier"), self.out)

    def content(self) -> dict[str, Any] | None:
        """What a reader finds: None if there is no result yet. Raises if the result cannot be read."""
        if self.name.startswith("label"):
            if not any(entry for entry in _names(self.out) if not entry.startswith(".grande-")):
                return None
            if "--overwrite" not in self.name and _is_in_the_middle(self.out):
                return None  # the next reader or writer moves it back, as Labelling.load does here below
            Labelling.load(self.out)
            return _bytes(
                self.out, "predictions.csv", "settings.json", "problems.csv", "model/model.safetensors"
            )
        if self.name == "extract":
            if not (self.out / "f.npz").exists():
                return None
            load_features(self.out / "f.npz")
            return _bytes(self.out, "f.npz")
        if not (self.out / "rows.jsonl").exists():
            return None
        return {"rows": _rows(self.out / "rows.jsonl"), **_bytes(self.out, "table1.csv", "table1.md")}


def _names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


def _is_in_the_middle(folder: Path) -> bool:
    from grande_gnn.internal.swap import recover

    recover(folder)
    return not (folder / "predictions.csv").exists()


def _bytes(folder: Path, *names: str) -> dict[str, Any]:
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def _rows(path: Path) -> list[str]:
    """The finished rows without what differs from run to run; a line that a kill cut short is dropped, as by the reader."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return sorted(json.dumps({k: v for k, v in json.loads(line).items() if k != "seconds"}) for line in lines)


def temporary_files(folder: Path) -> int:
    """How many temporary files and folders lie in a folder and below."""
    return sum(1 for path in folder.rglob("*") if path.name.endswith(".part"))


def run(arguments: Sequence[str], at: int = 0, after: float | None = None) -> tuple[int, int, float]:
    """Run a command in a child that is killed before its ``at``-th change to files, or ``after`` some seconds.

    Returns its status, the number of its changes, and the seconds it took.
    """
    read, write = os.pipe()
    start = time.perf_counter()
    child = os.fork()
    if not child:
        _be_the_child(arguments, at, write)
    os.close(write)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(read) as file:
        count = int(file.read() or 0)
    return status, count, time.perf_counter() - start


def _be_the_child(arguments: Sequence[str], at: int, write: int) -> None:
    count, status = 0, 1

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in EVENTS:
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        sys.addaudithook(hook)
        grande(list(arguments))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        os.write(write, str(count).encode())
        os._exit(status)


def commands(root: Path) -> list[Command]:
    """The five commands on made images and features, with the result of a whole run each."""
    rng = np.random.default_rng(0)
    photos = root / "photos"
    for number in range(40):
        place = photos / ("ash", "oak")[number % 2] if number < 12 else photos
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 90, size=(16, 16, 3)) + 150 * (np.arange(3) == number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number:02d}.png")
    features = root / "data" / "own" / "features_a.npz"
    features.parent.mkdir(parents=True)
    labels = np.arange(36) % 3
    np.savez(features, features=rng.normal(size=(36, 6)) + 3 * np.eye(3, 6)[labels], labels=labels)
    label = ["label", str(photos), "-o", "OUT", *FAST, "--model", "sgc", "--paper", "--store", "STORE"]
    made = [
        Command("extract", root, "extract", str(photos), "-o", "FILE", *FAST, "--store", "STORE", "--overwrite"),
        Command("label", root, *label),
        Command("label --overwrite", root, *label, "--overwrite"),
        Command("table", root, "table", "1", "--data", str(root / "data"), "-o", "OUT", *FEW, "--epochs", "20",
                "--neighbors", "5", "--inner-folds", "0"),
        Command("compare", root, "compare", str(features), "--systems", "grande,logreg,knn", *FEW,
                "-o", "OUT"),
    ]  # fmt: skip
    old = Command("earlier", root, *label, "--seed", "1", "--degree", "centrality")
    assert run(old.line())[0] == 0
    for command in made:
        command.clear()
        command.old = command.content()
        status = run(command.line())[0]
        assert status == 0, (command.name, status)
        command.whole = command.content() or {}
        assert command.whole != command.old
    return made


def is_old_or_new(command: Command) -> str:
    """``old``, ``new`` or (for rows, which are appended) ``part``; ``wrong`` is what must not be."""
    try:
        found = command.content()
    except Exception as error:  # whatever a damaged result raises is what we look for
        return f"wrong: {type(error).__name__} {error}"
    if found == command.old:
        return "old"
    if found == command.whole:
        return "new"
    if found and "rows" in found and set(found["rows"]) <= set(command.whole["rows"]):
        return "part"
    return "wrong: neither the old result nor the new one"


def kill_once(command: Command, number: int, moments: random.Random) -> dict[str, Any]:
    """One kill, what it left, and after each third kill a whole run."""
    if number % 3 == 0:
        command.clear()
        _, command.changes, command.seconds = run(command.line())  # type: ignore[attr-defined]
        command.clear()
    if number % 2:
        at, after = moments.randint(1, max(command.changes, 1)), None  # type: ignore[attr-defined]
    else:
        at, after = 0, moments.uniform(0, command.seconds)  # type: ignore[attr-defined]
    status, _, _ = run(command.line(), at, after)
    row: dict[str, Any] = {
        "command": command.name, "kill": number, "how": "change" if at else "time",
        "moment": at or f"{after:.3f}", "status": status, "left": is_old_or_new(command),
    }  # fmt: skip
    if number % 3 == 2:
        again = run(command.line())[0]
        left = is_old_or_new(command)
        was_there = again != 0 and row["left"] == "new"  # a complete result is not replaced unasked
        row["again"] = (
            "equal" if left == "new" and (again == 0 or was_there) else f"wrong: status {again}, {left}"
        )
        row["temporary_files"] = temporary_files(command.out)
    return row


def main() -> None:
    """Go on until there are so many rows, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=240, help="rows in the end")
    parser.add_argument("--minutes", type=float, default=8, help="stop after this time")
    parser.add_argument("--out", type=Path, default=RESULTS / "kills.csv")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    rows: list[dict[str, Any]] = []
    if options.out.exists():
        with options.out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        made = commands(Path(folder))
        done = Counter(row["command"] for row in rows)
        while len(rows) < options.kills and time.monotonic() < end:
            command = min(made, key=lambda command: done[command.name])
            first = done[command.name] // 3 * 3  # a group of three that was cut short is done again
            rows = [row for row in rows if row["command"] != command.name or int(row["kill"]) < first]
            moments = random.Random(f"{command.name} {first}")
            rows += [kill_once(command, number, moments) for number in range(first, first + 3)]
            done[command.name] = first + 3
            with options.out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, FIELDS, restval="")
                writer.writeheader()
                writer.writerows(rows)
    killed = sum(int(row["status"]) == -signal.SIGKILL for row in rows)
    wrong = [row for row in rows if any(str(value).startswith("wrong") for value in row.values())]
    litter = sum(int(row["temporary_files"] or 0) for row in rows if row.get("temporary_files"))
    print(f"{len(rows)} runs, {killed} of them killed, {len(wrong)} wrong, {litter} temporary files left")
    for name, count in Counter((row["command"], row["left"]) for row in rows).items():
        print(*name, count)
    sys.exit(bool(wrong or litter))


if __name__ == "__main__":
    main()
