"""The local runner: several processes, lost ones replaced, the same rows."""

import os
import signal
from pathlib import Path

import pytest

from grande_gnn.errors import GrandeError
from grande_gnn.experiments.measure import measure
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.tables.table1_gains import gains_trials


def test_processes_give_the_same_rows(plan, sets, tmp_path, run_all, measured):
    here = run_all(plan, sets, tmp_path / "here.jsonl")
    there = run_all(plan, sets, tmp_path / "there.jsonl", LocalRunner(device="cpu", jobs=2))
    assert measured(here) == measured(there)


def test_lost_processes_are_replaced_a_few_times(plan, sets, tmp_path, monkeypatch, run_all):
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    lost = []

    def lossy(self, left, shared):
        for number, batch in list(left.items()):
            if number % 5 == 3 and len(lost) < 2:
                lost.append(number)
                raise TerminatedWorkerError
            yield number, measure(shared[batch.data], batch, "cpu")

    monkeypatch.setattr(LocalRunner, "_parallel", lossy)
    store = run_all(plan, sets, tmp_path / "rows.jsonl", LocalRunner(device="cpu", jobs=2))
    assert len(lost) == 2
    assert set(store.finished) == set(gains_trials(plan))
    lost.clear()
    with pytest.raises(GrandeError, match="memory ran out"):
        run_all(plan, sets, tmp_path / "other.jsonl", LocalRunner(device="cpu", jobs=2, attempts=2))


def worker_processes():
    for path in Path("/proc/self/task").glob("*/children"):
        for child in path.read_text().split():
            if b"loky_posix" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield int(child)


@pytest.mark.kills
def test_a_killed_process_of_the_local_runner_costs_nothing(plan, sets, tmp_path, run_all, measured):
    if not Path("/proc/self/task").is_dir():
        pytest.skip("finding the worker processes needs /proc")
    whole = run_all(plan, sets, tmp_path / "whole.jsonl")
    killed = []

    def kill_one(forecast):
        if not killed:
            killed.append(next(worker_processes()))
            os.kill(killed[0], signal.SIGKILL)

    parts = run_all(plan, sets, tmp_path / "parts.jsonl", LocalRunner(device="cpu", jobs=2), watch=kill_one)
    assert killed
    assert measured(parts) == measured(whole)
    assert len((tmp_path / "parts.jsonl").read_text().splitlines()) == len(parts.finished)
