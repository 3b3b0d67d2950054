"""The door: what passes, what it becomes, and the one sentence for what does not."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.internal.validation import (
    check_choice,
    check_features,
    check_integer,
    check_lists,
    check_real,
    check_sigma,
    encode_labels,
    is_unlabelled,
)


class Missing:
    """Like pandas.NA: it compares to nothing, not even to itself, and has no truth value."""

    def __eq__(self, other):
        return self

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


# -- features -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, bool])
def test_features_become_contiguous_float32(dtype):
    given = np.asfortranarray(np.arange(6).reshape(3, 2).astype(dtype))
    got = check_features(given)
    assert got.dtype == np.float32
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, given)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ([1.0, 2.0], r"one row per sample; got 1 dimension\(s\), shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"got 3 dimension\(s\)"),
        (np.zeros((0, 3)), r"at least one sample.*got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"one feature; got shape \(3, 0\)"),
        ([[1.0], [math.nan], [math.inf]], r"must be finite: .*got 2 such row\(s\), the first is row 1"),
        ([[1e300]], r"must be finite"),  # too large for float32
        ([["a", "b"]], r"numeric matrix.*; got"),
        ([[1.0], [1.0, 2.0]], r"numeric matrix.*; got"),
        (None, "features must be"),
        (sp.eye(3), "numeric matrix"),
        (np.ones((2, 2)) * 1j, "numeric matrix"),
        (np.ones((2, 2), dtype="M8[s]"), "numeric matrix.*got dates or times"),
        (np.ones((2, 2), dtype="m8[s]"), "numeric matrix.*got dates or times"),
    ],
)
def test_refuses_features(features, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        check_features(features)
    assert "\n" not in str(caught.value)


# -- labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        (["b", "", "a", None, "  "], [1, -1, 0, -1, -1], ["a", "b"]),
        (["b", math.nan, "a", -1], [1, -1, 0, -1], ["a", "b"]),
        (np.array(["b", None, "a", math.nan, -1], dtype=object), [1, -1, 0, -1, -1], ["a", "b"]),
        (np.array(["b", "", "a"]), [1, -1, 0], ["a", "b"]),
        ([7, -1, 3], [1, -1, 0], [3, 7]),
        ([7, None, 3], [1, -1, 0], [3, 7]),
        ([7.0, math.nan, 3.0, -1.0], [1, -1, 0, -1], [3.0, 7.0]),
        (np.array([7, 3], dtype=np.uint8), [1, 0], [3, 7]),
        ([True, False, None], [1, 0, -1], [False, True]),
        (np.array(["a", Missing(), "b"], dtype=object), [0, -1, 1], ["a", "b"]),
        (["a", Missing(), "b"], [0, -1, 1], ["a", "b"]),
    ],
)
def test_encodes_labels(labels, codes, classes):
    got, names = encode_labels(labels)
    assert got.dtype == np.int64
    assert got.tolist() == codes
    assert names.tolist() == classes
    assert names.dtype != object
    np.testing.assert_array_equal(got == -1, is_unlabelled(np.asarray(labels, dtype=object)))


def test_the_negative_numbers_beside_minus_one_are_classes():
    assert encode_labels([-2, -1, 5])[1].tolist() == [-2, 5]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([-1, -1], "at least one sample must be labelled.*got 2 samples, all marked unlabelled"),
        (["", None], "at least one sample must be labelled"),
        ([math.nan], "at least one sample must be labelled"),
        ([], "at least one sample must be labelled"),
        ([[0], [1]], r"one value per sample; got shape \(2, 1\)"),
        (["a", 1], "all strings or all numbers; got a mixture of int, str"),
        ([("a", 1), ("b", 2), None], "labels must be"),
    ],
)
def test_refuses_labels(labels, words):
    with pytest.raises(InvalidInputError, match=words):
        encode_labels(labels)


def test_refuses_a_wrong_number_of_labels():
    with pytest.raises(InvalidInputError, match="3 samples; got 2 labels"):
        encode_labels([0, 1], 3)


# -- parameters ---------------------------------------------------------------------------------------


def test_good_parameters_pass_with_plain_types():
    assert check_choice("a", ["a", "b"], name="x") == "a"
    assert type(check_integer(np.int64(3), name="x")) is int
    assert type(check_real(np.float32(0.5), name="x", low=0, high=1)) is float
    assert check_real(0, name="x", low=0) == 0.0
    assert type(check_sigma(np.float64(0.2))) is float


@pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
def test_refuses_an_unknown_name(value):
    with pytest.raises(InvalidInputError, match=r"x must be one of a, b; got"):
        check_choice(value, ["a", "b"], name="x")


@pytest.mark.parametrize("value", [0, 1.5, "3", None, True, math.nan])
def test_refuses_what_is_not_a_positive_integer(value):
    with pytest.raises(InvalidInputError, match=r"x must be an integer of at least 1; got"):
        check_integer(value, name="x", low=1)


@pytest.mark.parametrize("value", [-0.1, 1.1, "0.5", None, False, math.nan])
def test_refuses_a_number_outside(value):
    with pytest.raises(InvalidInputError, match=r"x must be a number in \[0, 1\]; got"):
        check_real(value, name="x", low=0, high=1)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.0])
def test_no_parameter_is_infinite_or_at_an_open_end(value):
    with pytest.raises(InvalidInputError, match="; got"):
        check_real(value, name="x", low=0, open_low=True)


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, None, "0.2", True])
def test_refuses_sigma(sigma):
    with pytest.raises(InvalidInputError, match=r"sigma must be a positive number.*; got"):
        check_sigma(sigma)


# -- ranked lists -------------------------------------------------------------------------------------


def test_lists_become_int32():
    got = check_lists(np.array([[0, 1], [1, 0], [2, 0]], dtype=np.uint64), 3)
    assert got.dtype == np.int32
    assert got.tolist() == [[0, 1], [1, 0], [2, 0]]


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ([0, 1], "integer matrix"),
        ([[0.0, 1.0], [1.0, 0.0]], "integer matrix.*dtype float64"),
        (np.zeros((2, 0), dtype=int), "integer matrix"),
        (np.zeros((0, 2), dtype=int), "ranked lists"),
        ([[0, 2], [1, 0]], "must name samples 0 to 1; got entries from 0 to 2"),
        ([[0, -1], [1, 0]], "must name samples 0 to 1; got entries from -1"),
        ([[1, 0], [1, 0]], "must start with i itself; got 1 first in row 0"),
        ([[0, 1], [1, 1]], "must not name a sample twice; got a repetition in row 1"),
    ],
)
def test_refuses_lists(lists, words):
    with pytest.raises(InvalidInputError, match=words):
        check_lists(lists)


def test_refuses_lists_of_other_samples():
    with pytest.raises(InvalidInputError, match="3 samples; got 2 rows"):
        check_lists([[0, 1], [1, 0]], 3)


def test_every_error_is_ours_and_a_standard_one():
    from grande_gnn import errors

    for name in errors.__all__:
        error = getattr(errors, name)
        assert issubclass(error, GrandeError)
        assert name == "GrandeError" or issubclass(
            error, (ValueError, FileExistsError, ImportError, MemoryError, ArithmeticError)
        )


def test_integers_beside_missing_values_of_pandas_stay_integers():
    class Series:
        """Like a pandas.Series of the type Int64: numpy would read its numbers as floats."""

        dtype = "Int64"

        def isna(self):
            raise AssertionError("only its presence counts")

        def __array__(self, dtype=None, copy=None):
            values = [2**53, Missing(), 2**53 + 1]
            if dtype is not None and np.dtype(dtype) == object:
                return np.array(values, dtype=object)
            return np.array([2.0**53, math.nan, 2.0**53])

    codes, classes = encode_labels(Series())
    assert codes.tolist() == [0, -1, 1]
    assert classes.tolist() == [2**53, 2**53 + 1]
