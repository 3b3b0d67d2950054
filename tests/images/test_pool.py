"""Workers that die or take too long cost one file, not the run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from grande_gnn.errors import GrandeError
from grande_gnn.images import extract_features, find_images, load_extractor, time_limit, workers
from grande_gnn.images.pool import run_pool


class Numbers:
    """Task i is the number i; what happens at some positions is a function."""

    def __init__(self, n: int, events: dict[int, Any]) -> None:
        self.n, self.events = n, events

    def __len__(self) -> int:
        return self.n

    def enter_worker(self, worker: int, positions: Any, n_before: int) -> None:
        self.worker, self.positions, self.n_before = worker, positions, n_before

    def run(self, number: int, skipped: dict[int, str]) -> Any:
        if number in skipped:
            return number, skipped[number]
        self.positions[self.worker] = number + 1
        if number in self.events:
            self.events[number]()
        self.positions[self.worker] = 0
        return number, ""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise ValueError("wrong")


def results(n: int, events: dict[int, Any], n_workers: int = 2) -> dict[int, str]:
    found = list(run_pool(Numbers(n, events), n_workers, 2))
    assert len(found) == len(dict(found)) == n
    return dict(found)


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_every_task_has_one_result(n_workers: int) -> None:
    assert results(25, {}, n_workers) == dict.fromkeys(range(25), "")


def test_a_file_that_ends_its_worker_is_reported_and_the_others_are_not() -> None:
    found = results(20, {7: die, 13: lambda: os._exit(3)})
    assert found.pop(7) == "ended the process that read it (SIGKILL)"
    assert found.pop(13) == "ended the process that read it (status 3)"
    assert set(found.values()) == {""}


def test_a_worker_that_the_system_ended_once_costs_nothing(tmp_path: Path) -> None:
    def once() -> None:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            die()

    assert set(results(10, {4: once}).values()) == {""}


def test_time_is_reported_at_once() -> None:
    found = results(6, {2: lambda: os.kill(os.getpid(), signal.SIGPROF)})
    assert found[2] == "took more than 10 s to read"
    assert set(found.values()) == {"", found[2]}


def test_many_deaths_are_an_error() -> None:
    with pytest.raises(
        GrandeError, match=r"most likely because memory ran out.*fewer --workers.*got SIGKILL"
    ):
        results(30, dict.fromkeys(range(30), die))


def test_a_death_between_files_is_an_error() -> None:
    class Careless(Numbers):
        def run(self, number: int, skipped: dict[int, str]) -> Any:
            die()

    with pytest.raises(GrandeError, match="a worker process died"):
        list(run_pool(Careless(3, {}), 1, 2))


def test_an_error_in_a_worker_is_raised_here() -> None:
    with pytest.raises(ValueError, match="wrong"):
        results(5, {3: fail})


def test_workers_end_with_the_iterator() -> None:
    class Slow(Numbers):
        def run(self, number: int, skipped: dict[int, str]) -> Any:
            time.sleep(0 if number == 0 else 60)
            return os.getpid()

    pool = run_pool(Slow(4, {}), 1, 2)
    worker = next(pool)
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_replaced_worker_knows_how_many_results_its_number_gave() -> None:
    class Counting(Numbers):
        def run(self, number: int, skipped: dict[int, str]) -> Any:
            super().run(number, skipped)
            return number, str(self.n_before)

    found = dict(run_pool(Counting(6, {3: die}), 1, 2))
    assert found == {0: "0", 1: "0", 2: "0", 3: "3", 4: "3", 5: "3"}


@pytest.mark.parametrize("n_workers", [0, 2])
def test_an_image_that_takes_too_long_is_a_problem(
    class_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_workers: int
) -> None:
    read = workers.read_image

    def slow(path: Path, *arguments: Any) -> Any:
        while path.name == "a.jpg":
            pass
        return read(path, *arguments)

    monkeypatch.setattr(workers, "read_image", slow)
    monkeypatch.setattr(time_limit, "TIME_LIMIT_S", 0.3)
    found = extract_features(
        find_images(class_folders), load_extractor("pixels"), store=tmp_path, device="cpu", workers=n_workers
    )
    assert [(problem.file, problem.reason) for problem in found.images.problems] == [
        ("a.jpg", "took more than 10 s to read")
    ]
    assert len(found.images) == 7
