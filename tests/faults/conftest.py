"""Commands in forked processes that meet a fault at a chosen moment.

A forked child has everything imported, so that a command takes a fraction of a second. Moments are counted: each time the
command is about to open a file for writing, to move, delete or create something, or to wait for the disk (Python's audit
events and ``os.fsync``). At the chosen moment the call fails with an error of the system, or the process is killed.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grande_gnn import experiments, labelling, report  # noqa: F401 - so that children need not import them
from grande_gnn.cli import main

EVENTS = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
    "os.link",
    "os.symlink",
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KILL = "KILL"
"""The fault that is no error: SIGKILL."""


@dataclass
class Ended:
    """How a command ended, what it printed on stderr, and how many moments it came to."""

    status: int
    said: str
    moments: int


class Faults:
    """Counts the moments at which a fault may come, and makes one of them fail."""

    def __init__(self, root: Path, at: int, fault: int | str | None) -> None:
        self.root, self.at, self.fault, self.count, self.active = str(root), at, fault, 0, True

    def install(self) -> None:
        sys.addaudithook(self.hook)
        sync = os.fsync

        def fsync(descriptor: int) -> None:
            self.moment()
            if self.fault is not None:  # whether data reaches the disk cannot be seen here
                return
            sync(descriptor)

        os.fsync = fsync

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active or (event != "open" and event not in EVENTS):
            return
        place = arguments[0]
        if event == "open" and (not isinstance(arguments[2], int) or not arguments[2] & WRITING):
            return
        if isinstance(place, int):
            return
        name = os.fsdecode(place)
        if name.startswith(self.root) or not os.path.isabs(name):
            self.moment()

    def moment(self) -> None:
        self.count += 1
        if self.count == self.at:
            if self.fault == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            self.active = False  # one fault; what is done about it goes well
            assert isinstance(self.fault, int)
            raise OSError(self.fault, os.strerror(self.fault))


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in a child; ``at`` and ``fault`` (an errno or KILL) choose what happens to it."""

    def call(arguments: Sequence[object], at: int = 0, fault: int | str | None = None) -> Ended:
        with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as printed:
            child = os.fork()
            if not child:
                faults = Faults(tmp_path, at, fault)
                status = 99
                try:
                    os.dup2(told.fileno(), 2)
                    os.dup2(printed.fileno(), 1)
                    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                    faults.install()
                    main([str(argument) for argument in arguments])
                except SystemExit as end:
                    status = end.code if isinstance(end.code, int) else 0
                except BaseException:
                    import traceback

                    traceback.print_exc()
                faults.active = False
                print(f"\n{faults.count}", file=sys.stderr, flush=True)
                os._exit(status)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            told.seek(0)
            said, _, count = told.read().rstrip().rpartition("\n")
            return Ended(status, said, int(count) if count.isdigit() else 0)

    return call


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixteen images in two classes, six of them labelled by their folder, and one file that is no image."""
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    for number in range(16):
        place = folder / ("ash", "oak")[number % 2] if number < 6 else folder
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 90, size=(8, 8, 3)) + 150 * (np.arange(3) == number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number:02d}.png")
    (folder / "broken.jpg").write_bytes(b"not an image")
    return folder


@pytest.fixture
def content() -> Callable[[Path], dict[str, bytes]]:
    """A function from a folder to the bytes of all files in it, by their names."""

    def read(folder: Path) -> dict[str, bytes]:
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    return read
