"""SIGKILL at random moments: nothing that the server called saved is lost, and the folder is whole."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "review_kills.py"


@pytest.mark.kills
def test_nothing_that_was_confirmed_is_lost():
    spec = importlib.util.spec_from_file_location("review_kills", SCRIPT)
    kills = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = kills
    spec.loader.exec_module(kills)
    rows = kills.run(3, seed=5)
    assert [row["lost"] for row in rows] == [0, 0, 0]
    assert [row["folder"] for row in rows] == ["whole"] * 3
    assert sum(row["confirmed"] for row in rows) > 0
