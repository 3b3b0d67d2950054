"""A fault at every write of a command, in turn: the old result or the new one, never a half; then the same command works."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grande_gnn import Labelling
from grande_gnn.images.adapt import DEFAULTS
from grande_gnn.images.adapt_training import Recipe
from grande_gnn.images.training_state import TrainingState
from grande_gnn.internal.swap import recover

KILL = "KILL"
FAULTS = (errno.ENOSPC, errno.EIO, errno.EACCES, KILL)
FAST = ("--extractor", "pixels", "--workers", 0, "--device", "cpu")


class Label:
    """``grande label`` into a new folder, of images whose features are known."""

    n_least = 30
    """The command has at least this many moments."""
    n_last = 0
    """Only so many of the last moments are tried; 0 for all."""
    every = 1
    """Of these, one of so many is tried."""

    def __init__(self, photos: Path, *more: str) -> None:
        self.out = photos.parent / "out"
        options = (*FAST, "--model", "sgc", "--paper", "--export", "label-studio")
        self.arguments = ("label", photos, "-o", self.out, *options, *more)

    def clear(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)

    def is_whole(self) -> bool:
        recover(self.out)  # as every reader and writer does first
        if not (self.out / "predictions.csv").exists():
            return False
        Labelling.load(self.out)
        return True


class Overwrite(Label):
    """``grande label --overwrite`` over a result of other settings, with a file of the user's next to it."""

    def __init__(self, photos: Path) -> None:
        super().__init__(photos, "--overwrite")
        self.earlier = photos.parent / "earlier"

    def clear(self) -> None:
        super().clear()
        if self.earlier.exists():
            shutil.copytree(self.earlier, self.out)

    def is_whole(self) -> bool:
        assert super().is_whole()
        assert (self.out / "mine.txt").read_text() == "mine"
        return True


class Extract(Label):
    """``grande extract`` into a file."""

    n_least = 5

    def __init__(self, photos: Path) -> None:
        self.out = photos.parent / "features"
        self.arguments = ("extract", photos, "-o", self.out / "f.npz", *FAST, "--overwrite")

    def clear(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def is_whole(self) -> bool:
        return (self.out / "f.npz").exists()


class Copies(Label):
    """``grande label --copy-to``, of which only the copies are looked at."""

    n_last = 85

    def __init__(self, photos: Path) -> None:
        super().__init__(photos, "--copy-to", str(photos.parent / "copies"), "--overwrite")
        self.results, self.out = self.out, photos.parent / "copies"

    def clear(self) -> None:
        super().clear()
        shutil.rmtree(self.results, ignore_errors=True)

    def is_whole(self) -> bool:
        return self.out.exists() and any(self.out.iterdir())


class Adapt(Label):
    """``grande label --adapt``, with a checkpoint after every step; earlier weights are removed first."""

    n_least = 60
    every = 3

    def __init__(self, photos: Path) -> None:
        super().__init__(photos)
        self.cache = photos.parent / "cache"
        self.arguments = (*self.arguments, "--extractor", "tiny", "--adapt", "full")

    def clear(self) -> None:
        super().clear()
        for made in self.cache.glob("adapted-*"):
            made.unlink()


def start(kind: type[Label], photos: Path, run: Callable, content: Callable) -> tuple[Label, dict, int]:
    """The case, what it writes without a fault, and the number of moments that it has."""
    case = kind(photos)
    if isinstance(case, Overwrite):
        assert run([*case.arguments, "--seed", 1, "--degree", "centrality"]).status == 0
        (case.out / "mine.txt").write_text("mine")
        shutil.copytree(case.out, case.earlier)
    case.clear()
    assert run(case.arguments).status == 0  # the features are in the store from here on
    case.clear()
    ended = run(case.arguments)
    assert ended.status == 0
    assert ended.moments >= case.n_least
    return case, content(case.out), ended.moments


def ours(found: dict[str, bytes]) -> dict[str, bytes]:
    """Without what a killed process left and without results that could not be moved, which the user is told about."""
    return {name: data for name, data in found.items() if not name.startswith((".", "grande-kept-"))}


def check(case: Label, expected: dict, at: int, fault: int | str, run: Callable, content: Callable) -> None:
    case.clear()
    before = content(case.out) if case.out.exists() else {}
    ended = run(case.arguments, at, fault)
    assert "Traceback" not in ended.said, ended.said
    if fault == KILL:
        assert ended.status == -9
    elif ended.status != 0:  # else it was something that can be done without
        assert ended.status == 1
        assert ended.said.splitlines()[-1].startswith("Error: ")
    if case.is_whole():
        assert ours(content(case.out)) in (before, expected)
    elif fault != KILL and case.out.exists():
        left = ours(content(case.out))
        assert left.items() <= expected.items() if isinstance(case, Extract) else not left
    again = run(case.arguments)
    if again.status:  # only a result that was complete already is not written again
        assert "the output exists" in again.said or "must be new or empty" in again.said
        assert fault == KILL or ended.status == 0
    found = content(case.out)
    assert ours(found) == expected
    assert len(found) == len(expected) or "they are kept in" in ended.said


KINDS = [Label, Overwrite, Extract, Copies, Adapt]


@pytest.fixture(autouse=True)
def quick_network(tiny_network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is adapted in a moment."""
    recipe = Recipe(steps=1, batch=2, lr=0.01, contrast_with="weak", lessons=0)
    monkeypatch.setitem(DEFAULTS["cpu"], "recipe", recipe)
    monkeypatch.setattr(TrainingState, "EVERY_S", 0.0)


@pytest.mark.parametrize("kind", [Overwrite, Extract, Adapt])
def test_some_moments(kind: type[Label], photos: Path, run: Callable, content: Callable) -> None:
    case, expected, moments = start(kind, photos, run, content)
    for number, at in enumerate((moments // 2, moments - 4)):
        check(case, expected, at, FAULTS[(3 * number + moments) % 4], run, content)


@pytest.mark.kills
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("fault", ["error", KILL])
@pytest.mark.parametrize("kind", KINDS)
def test_every_moment(
    kind: type[Label], fault: str, part: int, photos: Path, run: Callable, content: Callable
) -> None:
    case, expected, moments = start(kind, photos, run, content)
    first = moments - case.n_last if case.n_last else 0
    for at in range(first + 1 + part * case.every, moments + 1, 8 * case.every):
        check(case, expected, at, KILL if fault == KILL else FAULTS[at % 3], run, content)
