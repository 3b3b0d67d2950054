"""Features files: what is written comes back, in one piece or in blocks, and what does not fit gets one sentence."""

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.errors import FileFormatError
from grande_gnn.internal import features_file
from grande_gnn.internal.features_file import FeaturesFile, load_features, save_features, write_features

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


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


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"features": X[0]}, "f.npz: 'features' must be a matrix of real numbers"),
        ({"features": np.full((3, 2), np.nan)}, "f.npz: features must be finite.*3 such row"),
        (
            {"features": np.array([["a"]])},
            "f.npz: 'features' must be a matrix of real numbers or integers; got <U1",
        ),
        (
            {"features": X, "labels": np.arange(5)},
            r"'labels' must have one entry per row.*\(6\); got shape \(5,\)",
        ),
        ({"features": X, "labels": X}, r"'labels' must be a list of .*\(6, 3\)"),
        ({"features": X, "files": np.array(["a"])}, "'files' must have one entry per row"),
        (
            {"features": X, "labels": np.arange(6), "classes": np.array(["a"])},
            "must index the 1 'classes'.*0 to 5",
        ),
        ({"features": X, "labels": np.full(6, -2), "classes": np.array(["a"])}, "must index the 1 'classes'"),
    ],
)
def test_features_that_do_not_fit(tmp_path, arrays, words):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(FileFormatError, match=words) as caught:
        load_features(tmp_path / "f.npz")
    assert "\n" not in str(caught.value)


# -- in blocks ----------------------------------------------------------------------------------------


def test_blocks_become_one_file(tmp_path):
    features = np.random.default_rng(0).random((9001, 3), dtype=np.float32)
    files = [f"{'ä' * (i % 90)}{i}.jpg" for i in range(9001)]
    blocks = (features[i : i + 500] for i in range(0, 9001, 500))
    write_features(tmp_path / "f.npz", blocks, files, [""] * 9001)
    with np.load(tmp_path / "f.npz") as saved:
        assert set(saved) == {"features", "files"}  # nobody has a label
        assert (saved["features"] == features).all()
        assert saved["files"].tolist() == files


def test_labels_of_blocks_are_indices_of_their_classes(tmp_path):
    write_features(tmp_path / "f.npz", [X[:4], X[4:]], list("abcdef"), ["rose", "", "daisy", "rose", "", ""])
    with np.load(tmp_path / "f.npz") as saved:
        assert saved["labels"].tolist() == [1, -1, 0, 1, -1, -1]
        assert saved["classes"].tolist() == ["daisy", "rose"]
    assert load_features(tmp_path / "f.npz").labels.tolist() == ["rose", "", "daisy", "rose", "", ""]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    def fails():
        yield np.zeros((1, 2), dtype=np.float32)
        raise OSError("disk full")

    (tmp_path / "f.npz").write_bytes(b"old")
    with pytest.raises(OSError, match="disk full"):
        write_features(tmp_path / "f.npz", fails(), ["a", "b"], ["", ""])
    assert [path.name for path in tmp_path.iterdir()] == ["f.npz"]
    assert (tmp_path / "f.npz").read_bytes() == b"old"


def test_sparse_features_are_read_sparse_or_dense(tmp_path, monkeypatch):
    dense = np.random.default_rng(0).poisson(0.4, size=(5, 7)).astype(np.float32)
    matrix = sp.csr_matrix(dense)
    path = tmp_path / "f.npz"
    np.savez(
        path,
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        shape=matrix.shape,
        labels=np.arange(5),
    )
    np.testing.assert_array_equal(load_features(path).features, dense)
    kept = load_features(path, sparse=True)
    assert sp.issparse(kept.features)
    np.testing.assert_array_equal(kept.features.toarray(), dense)
    assert kept.files.tolist() == ["0", "1", "2", "3", "4"]
    sp.save_npz(path, matrix)
    np.testing.assert_array_equal(load_features(path, sparse=True).features.toarray(), dense)
    monkeypatch.setattr(features_file, "DENSE_BYTES", 100)
    with pytest.raises(FileFormatError, match=r"too large as a dense matrix.*; got 5 x 7"):
        load_features(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"indices": np.array([9, 9])},
            "f.npz: sparse features must be compressed rows or columns, as scipy.sparse.save_npz writes them; got",
        ),
        ({"indptr": np.array([0, 1])}, "compressed rows"),
        ({"shape": np.array([2])}, "compressed rows"),
        ({"shape": np.array([2, -3])}, "compressed rows"),
        ({"data": np.array([np.nan, 1])}, "must be finite"),
        ({"indptr": np.array([0, 2, 1])}, "compressed rows"),
    ],
)
def test_damaged_sparse_features_are_refused(tmp_path, changes, message):
    arrays = {
        "data": np.ones(2),
        "indices": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 3]),
    }
    np.savez(tmp_path / "f.npz", **(arrays | changes))
    with pytest.raises(FileFormatError, match=message) as caught:
        load_features(tmp_path / "f.npz", sparse=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3)])
def test_compressed_columns_are_not_taken_for_rows(tmp_path, shape):
    dense = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) % 5
    sp.save_npz(tmp_path / "f.npz", sp.csc_matrix(dense))
    np.testing.assert_array_equal(load_features(tmp_path / "f.npz", sparse=True).features.toarray(), dense)
    np.testing.assert_array_equal(load_features(tmp_path / "f.npz").features, dense)


def test_another_sparse_format_is_refused(tmp_path):
    sp.save_npz(tmp_path / "f.npz", sp.bsr_matrix(X))
    with pytest.raises(FileFormatError):
        load_features(tmp_path / "f.npz", sparse=True)
    parts = sp.csr_matrix(X)
    arrays = {"data": parts.data, "indices": parts.indices, "indptr": parts.indptr, "shape": parts.shape}
    np.savez(tmp_path / "f.npz", **arrays, format=np.array("rows"))
    with pytest.raises(FileFormatError, match=r"compressed rows or columns.*got the format 'rows'"):
        load_features(tmp_path / "f.npz", sparse=True)


def test_more_columns_than_can_be_used_are_refused(tmp_path):
    arrays = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 2**40]}
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(FileFormatError, match=f"must have fewer than {2**31} columns.*got {2**40}"):
        load_features(tmp_path / "f.npz", sparse=True)


def test_compressed_columns_cannot_declare_rows_without_end(tmp_path):
    arrays = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [2**39, 1], "format": np.array("csc")}
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(FileFormatError, match=f"got {2**39} rows with 1 entries"):
        load_features(tmp_path / "f.npz", sparse=True)


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize(
    "indptr", [[0, 2**30, 2**30, 0], [0, 3, 1, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, -1, 2, 4]]
)
def test_pointers_that_do_not_ascend_are_never_used_as_addresses(tmp_path, kind, indptr):
    arrays = {
        "data": np.ones(4),
        "indices": np.array([2, 2, 0, 1]),
        "indptr": np.array(indptr),
        "shape": [3, 3],
    }
    np.savez(tmp_path / "f.npz", **arrays, format=np.array(kind))
    with pytest.raises(
        FileFormatError, match="'indptr' that does not ascend from 0 to the number of entries"
    ):
        load_features(tmp_path / "f.npz", sparse=True)
