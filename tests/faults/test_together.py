"""Several processes on one folder, one store and one output: each ends with a right result or with one sentence."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from grande_gnn import Labelling
from grande_gnn.cli import main
from grande_gnn.labelling import needs

FAST = ("--extractor", "pixels", "--workers", 0, "--device", "cpu")
LABEL = (*FAST, "--model", "sgc", "--paper")


def together(commands: Sequence[Sequence[object]]) -> list[tuple[int, str]]:
    """Start all commands at the same moment; the status of each and what it said on stderr."""
    wait, go = os.pipe()
    children = []
    for arguments in commands:
        told = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed below
        child = os.fork()
        if not child:
            status = 99
            try:
                os.dup2(told.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                os.close(go)
                os.read(wait, 1)  # ends when the other end is closed
                main([str(argument) for argument in arguments])
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 0
            except BaseException:
                import traceback

                traceback.print_exc()
            sys.stderr.flush()
            os._exit(status)
        children.append((child, told))
    os.close(wait)
    os.close(go)
    ended = []
    for child, told in children:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        ended.append((status, told.read()))
        told.close()
    return ended


def check(ended: list[tuple[int, str]]) -> int:
    """How many went well; the others must have said why in one sentence."""
    for status, said in ended:
        assert status in (0, 1), said
        assert "Traceback" not in said
        assert status == 0 or said.strip().splitlines()[-1].startswith("Error: ")
    return sum(status == 0 for status, _ in ended)


def predictions(folder: Path) -> bytes:
    assert Labelling.load(folder).files
    assert not [entry for entry in os.listdir(folder) if entry.startswith(".")]
    return (folder / "predictions.csv").read_bytes()


NUMBERS = [2, pytest.param(4, marks=pytest.mark.kills)]


@pytest.mark.parametrize("n", NUMBERS)
def test_one_store_and_outputs_of_their_own(photos: Path, n: int) -> None:
    outs = [photos.parent / f"out{number}" for number in range(n)]
    assert check(together([("label", photos, "-o", out, *LABEL) for out in outs])) == n
    assert len({predictions(out) for out in outs}) == 1


@pytest.mark.parametrize("n", NUMBERS)
def test_one_output(photos: Path, n: int) -> None:
    out = photos.parent / "out"
    assert check(together([("label", photos, "-o", out, *LABEL)] * n)) >= 1
    first = predictions(out)
    assert check(together([("label", photos, "-o", out, *LABEL, "--overwrite")] * n)) == n
    assert predictions(out) == first


@pytest.mark.parametrize("n", NUMBERS)
def test_one_file(photos: Path, n: int) -> None:
    file = photos.parent / "f.npz"
    assert check(together([("extract", photos, "-o", file, *FAST, "--overwrite")] * n)) == n
    assert {entry for entry in os.listdir(photos.parent) if "f." in entry} == {"f.npz", "f.problems.csv"}


def test_a_reader_while_results_are_replaced(photos: Path) -> None:
    out = photos.parent / "out"
    assert check(together([("label", photos, "-o", out, *LABEL)])) == 1
    first = predictions(out)
    child = os.fork()
    if not child:
        from grande_gnn.labelling.folder import write_labelling

        result = Labelling.load(out)
        while True:
            write_labelling(result, out, overwrite=True)
    try:
        for _ in range(8):
            assert len(Labelling.load(out).files) == 16
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Labelling.load(out)
    assert predictions(out) == first


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_memory_that_does_not_suffice_is_said_before_the_work(
    photos: Path, run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    # A child may give back tens of MiB, such as the stacks of its parent's threads, so it must need more than these.
    monkeypatch.setattr(needs, "_FIXED", 2**29)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + 60 * 2**20, before[1]))
    try:
        ended = run(("label", photos, "-o", photos.parent / "out", *LABEL))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert ended.status == 1
    assert "Error: labelling 17 images with" in ended.said
    assert not (photos.parent / "cache").exists()
