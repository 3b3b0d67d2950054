"""Rows of a context are added unless they are there already; identical rows are found by their bytes."""

import tracemalloc

import numpy as np
import pytest

from grande_gnn.classifier.context import matching_rows, with_context
from grande_gnn.errors import InvalidInputError

X = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]], dtype=np.float32)
CODES = np.array([0, 1, -1])


def test_without_a_context_nothing_changes():
    rows, codes = with_context(X, CODES, None)
    assert rows is X
    assert codes is CODES


def test_each_row_of_the_context_is_there_as_often_as_it_is_given():
    context = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [5.0, 5.0]]
    rows, codes = with_context(X, CODES, context)
    np.testing.assert_array_equal(rows, [*X, [0, 1], [0, 1], [5, 5]])
    assert codes.tolist() == [0, 1, -1, -1, -1, -1]


def test_a_context_with_other_columns_is_refused():
    with pytest.raises(InvalidInputError, match="as many columns as X, 2; got 3"):
        with_context(X, CODES, [[1.0, 2.0, 3.0]])


def test_the_first_identical_row_is_found():
    assert matching_rows(np.array([[2, 3], [0, 1], [9, 9]], dtype=np.float32), X).tolist() == [1, 0, -1]


def test_one_row_is_found_among_many_without_a_copy_of_them():
    among = np.random.default_rng(0).normal(size=(2000, 256)).astype(np.float32)
    among[1500] = among[40]
    tracemalloc.start()
    found = matching_rows(np.stack([among[1500], among[0] + 1, among[1999]]), among)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [40, -1, 1999]
    assert most < among.nbytes / 20


def test_negative_zeros_are_other_bytes_and_no_rows_match_nothing():
    assert matching_rows(np.array([[-0.0, 1], [0, 1]], dtype=np.float32), X).tolist() == [-1, 0]
    assert matching_rows(np.empty((0, 2), dtype=np.float32), X).tolist() == []
