"""The file formats: what is written comes back, foreign files get one sentence, and files are whole or absent."""

import os
import pickle
import stat
import zipfile

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.graph import knn_graph, ranked_lists
from grande_gnn.graph.graph_files import load_graph, load_lists, save_graph, save_lists
from grande_gnn.internal.files import (
    FeaturesFile,
    check_output,
    load_features,
    save_features,
    write_atomically,
)

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
LOADERS = {"features": load_features, "ranked lists": load_lists, "graph": load_graph}


@pytest.mark.parametrize(
    "labels", [None, np.array(["a", "", "b", "a", "b", ""]), np.array([0, 1, -1, 0, 1, 2])]
)
def test_features_come_back(tmp_path, labels):
    files = np.array([f"dir/é {i}.jpg" for i in range(6)])
    save_features(tmp_path / "f.npz", FeaturesFile(X, files, labels))
    got = load_features(tmp_path / "f.npz")
    np.testing.assert_array_equal(got.features, X)
    assert got.files.tolist() == files.tolist()
    assert (got.labels is None) if labels is None else (got.labels.tolist() == labels.tolist())


def test_lists_and_graph_come_back(tmp_path):
    lists, graph = ranked_lists(X, 4), knn_graph(X, 3)
    save_lists(tmp_path / "l.npz", lists)
    save_graph(tmp_path / "g.npz", graph)
    np.testing.assert_array_equal(load_lists(tmp_path / "l.npz"), lists)
    again = load_graph(tmp_path / "g.npz")
    np.testing.assert_array_equal(again.indptr, graph.indptr)
    np.testing.assert_array_equal(again.indices, graph.indices)


def test_half_precision_and_class_names(tmp_path):
    np.savez(
        tmp_path / "f.npz",
        features=X.astype(np.float16),
        labels=np.array([0, 1, -1, 0, 1, 1]),
        classes=np.array(["daisy", "rose"]),
    )
    got = load_features(tmp_path / "f.npz")
    assert got.features.dtype == np.float32
    assert got.labels.tolist() == ["daisy", "rose", "", "daisy", "rose", "rose"]
    assert len(set(got.files.tolist())) == 6  # without names every row still has its own


def test_a_one_sided_graph_without_loops_is_completed(tmp_path):
    np.savez(tmp_path / "g.npz", indptr=[0, 1, 1, 1], indices=[2])
    assert load_graph(tmp_path / "g.npz").to_scipy(int).toarray().tolist() == [
        [1, 0, 1],
        [0, 1, 0],
        [1, 0, 1],
    ]


# -- foreign and broken files -------------------------------------------------------------------------


def assert_one_sentence(load, path, words):
    with pytest.raises(FileFormatError, match=words) as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("what", "load"), LOADERS.items())
def test_what_is_not_an_npz(tmp_path, what, load):
    assert_one_sentence(load, tmp_path / "absent.npz", f"no such {what} file")
    assert_one_sentence(load, tmp_path, f"no such {what} file")
    for content in (b"", b"just text", b"PK\x03\x04 broken", pickle.dumps({"features": X})):
        (tmp_path / "f.npz").write_bytes(content)
        assert_one_sentence(load, tmp_path / "f.npz", "not a .npz|not a readable")
    np.save(tmp_path / "f.npy", X)
    assert_one_sentence(load, tmp_path / "f.npy", "not a .npz")


@pytest.mark.parametrize(("what", "load"), LOADERS.items())
def test_an_npz_of_something_else(tmp_path, what, load):
    np.savez(tmp_path / "f.npz", weights=X)
    assert_one_sentence(load, tmp_path / "f.npz", f"has no array .* not a {what} file; got weights")
    np.savez(tmp_path / "f.npz")
    assert_one_sentence(load, tmp_path / "f.npz", "got nothing")
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        for name in ("features", "labels", "lists", "indptr", "indices"):
            archive.writestr(name, "this is text")
    assert_one_sentence(load, tmp_path / "f.npz", "f.npz")


def test_a_pickled_array_is_never_opened(tmp_path):
    np.savez(tmp_path / "f.npz", features=X, labels=np.array(["a", None, 1, 2, 3, 4], dtype=object))
    assert_one_sentence(load_features, tmp_path / "f.npz", "without pickled objects")


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
def test_damaged_bytes(tmp_path, at):
    np.savez_compressed(tmp_path / "f.npz", features=np.random.default_rng(0).normal(size=(50, 20)))
    content = bytearray((tmp_path / "f.npz").read_bytes())
    middle = int(at * len(content))
    content[middle : middle + 40] = bytes(b ^ 0xFF for b in content[middle : middle + 40])
    (tmp_path / "f.npz").write_bytes(content)
    assert_one_sentence(load_features, tmp_path / "f.npz", "f.npz")
    (tmp_path / "f.npz").write_bytes(content[:middle])
    assert_one_sentence(load_features, tmp_path / "f.npz", "f.npz")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"features": X[0]}, "f.npz: features must be a matrix"),
        ({"features": np.full((3, 2), np.nan)}, "f.npz: features must be finite.*3 such row"),
        ({"features": np.array([["a"]])}, "f.npz: features must be a numeric matrix"),
        (
            {"features": X, "labels": np.arange(5)},
            r"'labels' must have one entry a row.*\(6\); got shape \(5,\)",
        ),
        ({"features": X, "labels": X}, r"'labels' must have one entry a row.*got shape \(6, 3\)"),
        ({"features": X, "files": np.array(["a"])}, "'files' must have one entry a row"),
        (
            {"features": X, "labels": np.arange(6), "classes": np.array(["a"])},
            "must index the 1 'classes'.*0 to 5",
        ),
        ({"features": X, "labels": np.full(6, -2), "classes": np.array(["a"])}, "must index the 1 'classes'"),
    ],
)
def test_features_that_do_not_fit(tmp_path, arrays, words):
    np.savez(tmp_path / "f.npz", **arrays)
    assert_one_sentence(load_features, tmp_path / "f.npz", words)


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        (3, [0]),  # not a list at all
        ([], []),
        ([0], []),
        ([0, 1, 2], [0]),  # too few indices
        ([0, 1, 2], [0, 7]),  # a node that is not there
        ([0, 1, 2], [0, -1]),
        ([1, 1, 2], [0, 1]),
        ([0, 2, 1], [0, 1]),  # falling
        ([0.0, 1.0, 2.0], [0, 1]),
        ([0, 1, 2], [0.5, 1.5]),
        ([[0, 1], [1, 2]], [0, 1]),
        ([0, 1, 2], [[0, 1]]),
    ],
)
def test_graphs_that_do_not_fit(tmp_path, indptr, indices):
    np.savez(tmp_path / "g.npz", indptr=np.array(indptr), indices=np.array(indices))
    assert_one_sentence(load_graph, tmp_path / "g.npz", "g.npz does not hold a square CSR graph; got")


def test_lists_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "l.npz", lists=np.array([[1, 0], [1, 0]]))
    assert_one_sentence(load_lists, tmp_path / "l.npz", r"l.npz: row i of ranked lists must start with i")


# -- writing ------------------------------------------------------------------------------------------


def test_an_output_is_not_overwritten_unasked(tmp_path):
    target = tmp_path / "out.csv"
    assert check_output(target) == target
    target.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"the output exists.*; got .*out.csv"):
        check_output(target)
    assert check_output(target, overwrite=True) == target
    assert target.read_text() == "mine"
    with pytest.raises(InvalidInputError, match="folder of the output does not exist"):
        check_output(tmp_path / "nowhere" / "out.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "f.npz"
    target.write_text("old")

    def fail(file):
        file.write(b"half of it")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_atomically(target, fail)
    assert os.listdir(tmp_path) == ["f.npz"]
    assert target.read_text() == "old"
    target.unlink()
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    assert os.listdir(tmp_path) == []


def test_a_written_file_has_ordinary_permissions(tmp_path):
    write_atomically(tmp_path / "f", lambda file: file.write(b"x"))
    (tmp_path / "plain").write_bytes(b"x")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert (tmp_path / "f").read_bytes() == b"x"
