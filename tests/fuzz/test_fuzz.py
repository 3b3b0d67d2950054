"""A short campaign over every door, everything that ever broke one, and the harness itself."""

import logging
import os
import time
from collections import Counter
from pathlib import Path
from random import Random

import door
import doors
import mutators
import pytest
import run

SHORT = {"store": 60, "store-edited": 30, "model-0.1": 60}
"""Inputs per door, where it is not 200."""


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", doors.DOORS)
def test_damaged_files_are_refused_or_read_as_they_are(name, tmp_path):
    tried, n = doors.DOORS[name], SHORT.get(name, 200)
    for seed in tried.seeds:
        assert tried.judge(seed, tmp_path) == "accepted"
    outcomes = Counter(tried.judge(run.input_of(tried, number), tmp_path) for number in range(n))
    assert outcomes["refused"] + outcomes["accepted"] == n


CASES = [(name, case) for name in doors.DOORS for case, _ in door.kept(name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "case"), CASES)
def test_what_broke_something_once(name, case, tmp_path):
    assert doors.DOORS[name].judge(dict(door.kept(name))[case], tmp_path) in ("refused", "accepted")


def test_an_input_follows_from_its_number():
    for name in ("features", "rows", "images", "model-signed"):
        tried = doors.DOORS[name]
        assert run.input_of(tried, 5) == run.input_of(tried, 5)
        assert len({str(run.input_of(tried, number)) for number in range(40)}) > 30
    settings = doors.DOORS["settings"]
    before = [run.input_of(settings, number) for number in range(300)]
    assert [run.input_of(settings, number) for number in range(299, -1, -1)] == before[::-1]


WAYS = (*mutators.BYTES, mutators.blind, mutators.json_field, mutators.json_line, mutators.npz_member)


@pytest.mark.parametrize("data", [b"", b"x", b"not json {", b"[1]", bytes(300)])
def test_every_content_can_be_damaged(data):
    for way in WAYS:
        for number in range(20):
            assert isinstance(way(Random(number), data), bytes)


# -- the harness ------------------------------------------------------------------------------------------


class Broken(door.Door):
    """A door at which everything that can go wrong goes wrong."""

    name = "broken"

    def make(self):
        return [{"f": b"0"}]

    def read(self, folder, files):
        number = int(files["f"])
        if number == 3:
            os._exit(3)  # as a crash would
        if number == 5:
            raise KeyError("a traceback")
        if number == 7:
            raise AssertionError("a wrong answer")
        if number == 9:
            time.sleep(60)
        if number == 11:
            bytearray(3 << 30)
        if number % 2:
            raise door.GrandeError("one sentence")


def test_failures_of_every_kind_are_counted_and_the_rest_goes_on(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(run, "input_of", lambda door, number: {"f": str(number).encode()})
    monkeypatch.setitem(run.DOORS, "broken", Broken())
    monkeypatch.setattr(run, "SECONDS", 1)
    monkeypatch.setattr(run, "CHUNK", 20)
    tallies = {}
    run.campaign(["broken"], tallies, 0.01, 1, tmp_path / "found", tmp_path / "t.csv")
    expected = {"refused": 4, "accepted": 10, "traceback": 2, "wrong": 1, "crash": 1, "hang": 1}
    assert {kind: n for kind, n in tallies["broken"].counts.items() if kind != "refused"} == {
        kind: n for kind, n in expected.items() if kind != "refused"
    }
    found = sorted(path.name for path in (tmp_path / "found").iterdir())
    kinds = ("crash-3", "hang-9", "traceback-11", "traceback-5", "wrong-7")
    assert found == [f"broken-{kind}-f" for kind in kinds]
    again = run.read_table(tmp_path / "t.csv")["broken"]
    assert again.counts == tallies["broken"].counts
    assert again.next == sum(again.counts.values()) == 20


def test_another_campaign_begins_at_its_first_number_and_continues(monkeypatch, tmp_path):
    judged = []
    monkeypatch.setattr(run, "CHUNK", 4)

    class Recorded(run.Worker):
        def __init__(self, tally, numbers, found):
            judged.extend(numbers)
            super().__init__(tally, numbers, found)

    monkeypatch.setattr(run, "Worker", Recorded)
    tallies = {}
    for _ in range(2):
        run.campaign(["rows"], tallies, 0.001, 1, None, tmp_path / "t.csv", 9000)
        tallies = run.read_table(tmp_path / "t.csv")
    assert judged == list(range(9000, 9000 + len(judged)))
    assert len(judged) >= 8
    assert tallies["rows"].next == judged[-1] + 1


def test_the_committed_campaign_found_no_failure():
    if not run.TABLE.exists():
        pytest.skip("no campaign is committed")
    for name, tally in run.read_table(run.TABLE).items():
        assert name in doors.DOORS
        assert not [outcome for outcome in run.FAILURES if tally.counts[outcome]], name
        assert tally.peak_mib < 1024


def test_the_corpus_is_small():
    sizes = [path.stat().st_size for path in Path(door.CORPUS).rglob("*") if path.is_file()]
    assert sum(sizes) < 1 << 20
