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


def test_half_of_each_class_and_the_last_classes_are_left_without_labels(script):
    labels = np.repeat([0, 1, 2], [20, 6, 20])
    codes = script.given_labels(labels, 4, 0, named=2)
    assert np.bincount(codes[codes >= 0]).tolist() == [4, 3]
    assert (codes[codes >= 0] == labels[codes >= 0]).all()


@pytest.fixture
def folder(tmp_path, picture):
    """A folder with photos of three classes, and the classes in the order of labels.csv."""
    names = [*"abc" * 8]
    lines = ["file,label", *(f"{i}.png,{name}" for i, name in enumerate(names))]
    for i in range(len(names)):
        picture(i).save(tmp_path / f"{i}.png")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path, names


def test_packed_photos_are_the_photos(script, folder):
    photos, names = folder
    script.pack([photos], photos / "packed.npz")
    squares, labels = script.unpack(photos / "packed.npz", side=16)
    assert ["abc"[code] for code in labels] == names
    paths = [photos / f"{i}.png" for i in range(len(names))]
    assert (squares == read_squares(paths, Preprocess(16, 16))).all()


def test_packed_photos_of_two_folders_are_uneven_and_have_classes_without_labels(script, folder):
    photos, names = folder
    script.pack([photos, photos], photos / "packed.npz", ratio=4, unlabelled=1)
    with np.load(photos / "packed.npz") as archive:
        labels, classes, named = archive["labels"], archive["classes"], archive["named"]
    assert sorted(np.bincount(labels)) == [4, 8, 16]
    assert sorted(classes) == [*"abc"]
    assert named == 2
    whole, _ = script.unpack(photos / "packed.npz", side=16)
    paths = [photos / f"{i}.png" for i in range(len(names))]
    squares = read_squares(paths, Preprocess(16, 16))
    name_of = {pixels.numpy().tobytes(): name for pixels, name in zip(squares, names, strict=True)}
    assert [classes[code] for code in labels] == [name_of[pixels.numpy().tobytes()] for pixels in whole]
