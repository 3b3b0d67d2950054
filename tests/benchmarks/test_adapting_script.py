"""The script that measures adapting: its tasks, its splits, and the photos it packs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.images.preprocess import Preprocess
from grande_gnn.images.squares import read_squares

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = importlib.util.spec_from_file_location("benchmark_adapt", BENCHMARKS / "adapt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tasks_are_spelled_out(script):
    tasks = script.Task.parse("flowers:8:5:judged+base:0-1")
    assert [(t.recipe, t.split) for t in tasks] == [("judged", 0), ("base", 0), ("judged", 1), ("base", 1)]
    assert [t.split for t in script.Task.parse("flowers:8:5:base:0+4+8")] == [0, 4, 8]
    assert {(t.photos, t.labels, t.blocks) for t in tasks} == {("flowers", 8, 5)}


def test_eight_labels_of_even_classes_are_the_folds_of_the_paper(script):
    labels = np.repeat(np.arange(3), 80)
    folds = [script.given_labels(labels, 8, split) for split in range(10)]
    assert (np.sum([fold >= 0 for fold in folds], axis=0) == 1).all()
    assert np.flatnonzero(folds[0] >= 0)[:8].tolist() == list(range(8))
    few = script.given_labels(labels, 2, 0)
    assert np.bincount(few[few >= 0]).tolist() == [2, 2, 2]
    assert (few[few >= 0] == labels[few >= 0]).all()


def test_packed_photos_are_the_photos(script, tmp_path, picture):
    lines = ["file,label"]
    for i in range(3):
        picture(i).save(tmp_path / f"{i}.png")
        lines.append(f"{i}.png,{'ab'[i % 2]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    script.pack(tmp_path, tmp_path / "packed.npz")
    squares, labels = script.unpack(tmp_path / "packed.npz", side=16)
    assert labels.tolist() == [0, 1, 0]
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    assert (squares == read_squares(paths, Preprocess(16, 16))).all()
