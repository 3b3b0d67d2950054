"""A declaration accepts what it declares and gives one sentence, with the place, for everything else."""

import math

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.schema import (
    anything,
    check_array,
    either,
    flag,
    integer,
    list_of,
    mapping_of,
    number,
    only,
    optional,
    record,
    text,
)

POINT = record({"x": number(), "y": number(0, 1), "name": text()}, optional={"name"})

ACCEPTED = [
    (number(), 1),
    (number(), -2.5),
    (number(0, 1), 0),
    (number(0, 1), 1),
    (number(0, open_low=True), 5e-324),
    (integer(0, 3), 0),
    (integer(0, 3), 3),
    (text(), ""),
    (text("[ab]+"), "abba"),
    (text(surrogates=True), "\udcff"),
    (flag, True),
    (only(None), None),
    (only("auto"), "auto"),
    (optional(flag), None),
    (optional(flag), False),
    (either(only("auto"), integer(1, 9)), "auto"),
    (either(only("auto"), integer(1, 9)), 9),
    (list_of(flag), []),
    (list_of(flag, low=1, high=2), [True, False]),
    (mapping_of(flag), {"a": True}),
    (POINT, {"x": 1, "y": 0}),
    (POINT, {"x": 1, "y": 0, "name": "p"}),
    (record({}, more=True), {"z": 1}),
    (anything, object()),
]

REFUSED = [
    (number(), True, "p must be a number"),
    (number(), "1", "a number"),
    (number(), None, "a number"),
    (number(), math.nan, "a number"),
    (number(), math.inf, "a number"),
    (number(0, 1), 1.0001, r"in \[0, 1\]; got 1.0001"),
    (number(0, open_low=True), 0, r"in \(0, inf\]; got 0"),
    (integer(0, 3), 4, "from 0 to 3; got 4"),
    (integer(0, 3), -1, "from 0"),
    (integer(0, 3), 1.0, "an integer"),
    (integer(0, 3), True, "an integer"),
    (text(), 3, "a text"),
    (text(max_length=3), "abcd", "at most 3 characters"),
    (text("[ab]+"), "abc", "of the form"),
    (text(), "\ud800", "in Unicode"),
    (flag, 1, "true or false"),
    (only(None), 0, "None; got 0"),
    (only(1), True, "must be 1"),
    (either(only("auto"), integer(1, 9)), 10, "from 1 to 9; got 10"),
    (list_of(flag), {}, "a list"),
    (list_of(flag, low=1), [], "a list of 1 to"),
    (list_of(flag, high=1), [True, True], "a list of 0 to 1"),
    (list_of(flag), [True, 3], r"p\[1\] must be true or false; got 3"),
    (mapping_of(flag), [], "an object"),
    (mapping_of(flag), {"a": 0}, r"p\.a must be true or false"),
    (POINT, [], "an object; got a list"),
    (POINT, {"x": 1}, "needs the field 'y'; got x"),
    (POINT, {"x": 1, "y": 2}, r"p\.y must be a number in \[0, 1\]; got 2"),
    (POINT, {"x": 1, "y": 1, "z": 1}, "unknown fields; got 'z'"),
    (POINT, {}, "got no field"),
]


@pytest.mark.parametrize(("check", "value"), ACCEPTED)
def test_accepted(check, value):
    assert check(value, "p") is None


@pytest.mark.parametrize(("check", "value", "sentence"), REFUSED)
def test_refused(check, value, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        check(value, "p")


def test_a_long_value_is_cut_in_the_sentence():
    with pytest.raises(InvalidInputError) as caught:
        number()("x" * 10_000, "p")
    assert len(str(caught.value)) < 200


ONES = np.ones((3, 2), dtype=np.float32)


@pytest.mark.parametrize(
    ("array", "kinds", "shape", "limits", "sentence"),
    [
        (ONES, "f", (3, 2), (1, 1), None),
        (ONES, "fi", (None, 2), (None, None), None),
        (np.zeros((0, 2)), "f", (None, 2), (0, 1), None),
        (ONES, "i", (3, 2), (None, None), "a must be numbers of kind i; got float32"),
        (ONES, "f", (3, 3), (None, None), r"the shape \(3, 3\); got \(3, 2\)"),
        (ONES, "f", (3,), (None, None), "the shape"),
        (ONES * np.float32(np.nan), "f", (3, 2), (None, None), "finite"),
        (ONES * np.float32(-np.inf), "f", (3, 2), (None, None), "finite"),
        (ONES, "f", (3, 2), (2, None), r"in \[2, None\]; got 1.0 to 1.0"),
        (ONES, "f", (3, 2), (None, 0.5), r"in \[None, 0.5\]"),
        (np.ones(2, dtype=np.longdouble), "f", (2,), (None, None), "a must be numbers"),
    ],
)
def test_arrays(array, kinds, shape, limits, sentence):
    if sentence is None:
        check_array(array, "a", kinds, shape, *limits)
    else:
        with pytest.raises(InvalidInputError, match=sentence):
            check_array(array, "a", kinds, shape, *limits)


def test_one_bad_number_among_good_ones_is_found():
    for bad in (np.nan, np.inf, -np.inf, -1.0, 7.0):
        array = np.linspace(0, 1, 50)
        array[31] = bad
        with pytest.raises(InvalidInputError):
            check_array(array, "a", "f", (50,), 0, 1)
        if not np.isfinite(bad):
            with pytest.raises(InvalidInputError, match="finite"):
                check_array(array, "a", "f", (50,))
