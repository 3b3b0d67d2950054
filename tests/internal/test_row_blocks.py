"""Blocks of rows give what the whole matrix gives, to the last bit."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from grande_gnn.internal import row_blocks as module
from grande_gnn.internal.row_blocks import by_row_blocks, for_row_blocks, largest, rows_as

X = np.random.default_rng(0).normal(size=(1000, 7))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_BLOCK", 100)
    monkeypatch.setattr(module, "_BLOCK", 7 * 64)  # 64 rows; the last block has 40


@pytest.mark.parametrize(
    "function",
    [lambda x: softmax(x / 0.7, axis=1), lambda x: x.max(axis=1), lambda x: x.argmax(axis=1)],
    ids=["softmax", "max", "argmax"],
)
def test_rows_do_not_see_their_block(small_blocks, function):
    np.testing.assert_array_equal(by_row_blocks(function, X), function(X))


def test_several_arrays_are_cut_alike(small_blocks):
    shift = np.arange(1000.0)
    np.testing.assert_array_equal(
        by_row_blocks(lambda x, s: x.sum(axis=1) + s, X, shift), X.sum(axis=1) + shift
    )


def test_the_type_and_shape_of_the_result_are_kept(small_blocks):
    found = by_row_blocks(lambda x: np.stack([x[:, 0] > 0, x[:, 1] > 0], axis=1), X)
    assert found.shape == (1000, 2)
    assert found.dtype == bool


def test_small_matrices_are_one_block():
    sizes = []
    by_row_blocks(lambda x: sizes.append(len(x)) or x, X)
    assert sizes == [1000]


def test_an_error_in_a_block_is_raised(small_blocks):
    def fail(x):
        if not np.array_equal(x, X[:64]):
            raise ValueError("a later block")
        return x

    with pytest.raises(ValueError, match="a later block"):
        by_row_blocks(fail, X)


def test_every_row_is_in_exactly_one_block(small_blocks):
    count = np.zeros(1000, dtype=int)

    def fill(rows):
        count[rows] += 1

    for_row_blocks(fill, X)
    assert (count == 1).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types_are_read_as_numpy_reads_them(small_blocks, tmp_path, dtype):
    np.save(tmp_path / "x.npy", X.astype(dtype))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = rows_as(mapped, np.float32)
    assert not isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, X.astype(dtype).astype(np.float32))


def test_what_is_too_large_becomes_infinity_without_a_warning(small_blocks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(rows_as(1e300 * np.ones((1000, 7)), np.float32)).all()


def test_the_largest_of_each_row_is_found_with_its_place(small_blocks):
    places, values = largest(X)
    np.testing.assert_array_equal(places, X.argmax(axis=1))
    np.testing.assert_array_equal(values, X.max(axis=1))
