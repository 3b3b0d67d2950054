"""Killed ten times at random moments and resumed: the rows of an uninterrupted run."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.kills


def start(data, out):
    command = [sys.executable, "-m", "grande_gnn.cli", "table", "1", "--data", str(data), "-o", str(out)]
    command += ["--folds", "8", "--repeats", "2", "--neighbors", "10", "--device", "cpu"]
    return subprocess.Popen(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def measured(path):
    """The rows without what differs from run to run, sorted; a row written twice would be there twice."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        del row["seconds"]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def n_rows(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_ten_kills_at_random_moments(tmp_path, save_toy):
    data, rng = tmp_path / "data", random.Random(0)
    save_toy(data / "blobs", "a", n_classes=4, per_class=40)
    assert start(data, tmp_path / "whole").wait() == 0
    rows = tmp_path / "parts" / "rows.jsonl"
    for _ in range(10):
        before = n_rows(rows)
        process = start(data, tmp_path / "parts")
        # From the moment it writes, so that slow imports do not decide where it is killed.
        while process.poll() is None and n_rows(rows) == before:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.6))
        assert process.poll() is None, "it finished before it could be killed ten times"
        process.send_signal(signal.SIGKILL)
        process.wait()
    # A kill in the middle of a write would leave a torn line.
    with rows.open("ab") as file:
        file.write(b'{"dataset": "blo')
    assert start(data, tmp_path / "parts").wait() == 0
    assert measured(rows) == measured(tmp_path / "whole" / "rows.jsonl")
    assert (tmp_path / "parts" / "table1.csv").read_text() == (tmp_path / "whole" / "table1.csv").read_text()
