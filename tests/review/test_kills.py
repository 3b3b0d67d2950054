"""Signals: SIGKILL loses nothing that was confirmed, and Ctrl-C or SIGTERM ends the review with files written."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

from grande_gnn.labelling.result import Labelling

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "review_kills.py"


@pytest.fixture(scope="module")
def kills():
    spec = importlib.util.spec_from_file_location("review_kills", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.kills
def test_nothing_that_was_confirmed_is_lost(kills):
    rows = kills.run(3, seed=5)
    assert [row["lost"] for row in rows] == [0, 0, 0]
    assert [row["folder"] for row in rows] == ["whole"] * 3
    assert sum(row["confirmed"] for row in rows) > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_the_command_and_write_the_files(kills, out, number):
    server = kills.Server(out)
    try:
        server.post("/api/decide", {"kind": "label", "rows": [20], "label": "violet"})
        os.kill(server.process.pid, number)
        said, _ = server.process.communicate(timeout=50)
    finally:
        server.process.kill()
    again = Labelling.load(out)
    assert (again.labels[20], again.provenance[20]) == ("violet", "corrected")
    assert "predictions.csv" in said
    assert server.process.returncode == 0
