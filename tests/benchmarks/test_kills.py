"""The kills of the benchmark: it notices a half-written result, and goes on where it stopped."""

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def kills(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("kills", FOLDER / "kills.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_half_written_result_is_noticed(kills, tmp_path):
    command = kills.Command("table", tmp_path)
    command.whole = {"rows": ['{"a": 1}', '{"a": 2}'], "table1.csv": b"x"}
    assert kills.is_old_or_new(command) == "old"
    command.out.mkdir()
    (command.out / "rows.jsonl").write_text('{"a": 1, "seconds": 3}\n{"a": ')
    assert kills.is_old_or_new(command) == "part"
    (command.out / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (command.out / "table1.csv").write_bytes(b"x")
    assert kills.is_old_or_new(command) == "new"
    (command.out / "rows.jsonl").write_text('{"a": 1}\n{"a": 3}\n')
    assert kills.is_old_or_new(command).startswith("wrong")
    (command.out / "rows.jsonl").write_text('{"a": 1\n{"a": 2}\n')
    assert kills.is_old_or_new(command).startswith("wrong: JSONDecodeError")


def test_temporary_files_are_counted(kills, tmp_path):
    (tmp_path / "a" / ".grande-abcd1234.part").mkdir(parents=True)
    (tmp_path / ".f.npz.abcd1234.part").touch()
    assert kills.temporary_files(tmp_path) == 2


@pytest.mark.kills
def test_fifteen_kills_in_two_parts(tmp_path):
    out = tmp_path / "kills.csv"
    for number in (3, 15):
        command = [sys.executable, str(FOLDER / "kills.py"), "--kills", str(number), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    assert len({row["command"] for row in rows}) == 5
    assert {row["again"] for row in rows} == {"", "equal"}
