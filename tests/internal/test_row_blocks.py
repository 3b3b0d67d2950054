"""Blocks of rows give what the whole matrix gives, to the last bit."""

import numpy as np
import pytest
from scipy.special import softmax

from grande_gnn.internal import row_blocks as module
from grande_gnn.internal.row_blocks import by_row_blocks

X = np.random.default_rng(0).normal(size=(1000, 7))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_WHOLE", 100)
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
