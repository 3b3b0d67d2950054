"""The recorded states keep the order of the list, and a later state replaces an earlier one."""

import importlib.util
import sys
from pathlib import Path

import pytest


def load(name):
    spec = importlib.util.spec_from_file_location(f"mutation_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


record = load("record")
runner = record.load_runner()
MUTATIONS = runner.read_mutations()


def mutation(name, equivalent=""):
    return runner.Mutation(name, "a.py", "x", "y", ("t",), "", killed_before=False, equivalent=equivalent)


def test_later_states_replace_earlier_ones(tmp_path):
    path = tmp_path / "mutants.csv"
    assert record.read_rows(path) == {}
    listed = [mutation("a"), mutation("b"), mutation("c", "it changes nothing"), mutation("d")]
    first = [
        {"id": "b", "state": "survived"},
        {"id": "gone", "state": "killed"},
        {"id": "a", "state": "killed", "by": "t::x"},
    ]
    record.write_rows(record.updated({}, first, "here", listed), path)
    second = [{"id": "b", "state": "killed", "by": "t::y"}, {"id": "a", "state": "moved"}]
    record.write_rows(record.updated(record.read_rows(path), second, "there", listed), path)
    assert path.read_text().splitlines() == [
        "id,file,state,noticed_by,where",
        "a,a.py,killed,t::x,here",
        "b,a.py,killed,t::y,there",
        "c,a.py,equivalent,,",
    ]


ROWS = record.read_rows()


@pytest.mark.skipif(not ROWS, reason="no states were recorded")
def test_at_least_97_percent_of_those_tried_were_noticed():
    tried = [ROWS[one.id]["state"] for one in MUTATIONS if not one.equivalent and one.id in ROWS]
    assert len(tried) >= 250
    assert tried.count("killed") / len(tried) >= 0.97


PROMISED = ("labelling/", "classifier/tuning.py", "classifier/committee.py", "classifier/votes.py", "classifier/stacking.py",
            "classifier/new_samples.py")  # fmt: skip
"""Confidence, labelling, automatic settings and new samples."""


@pytest.mark.skipif(not ROWS, reason="no states were recorded")
def test_all_of_confidence_labelling_tuning_and_new_samples_were_noticed():
    promised = [
        row
        for row in ROWS.values()
        if row["file"].startswith(PROMISED) or row["id"].startswith(("cf-", "la-", "se-", "in-"))
    ]
    assert len(promised) > 80
    assert {row["state"] for row in promised} <= {"killed", "equivalent"}
