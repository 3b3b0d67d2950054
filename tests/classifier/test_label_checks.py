"""Labels are checked once, and what scikit-learn says about them is one sentence of ours."""

import numpy as np
import pytest

from grande_gnn.classifier.label_checks import check_labels, one_line_errors
from grande_gnn.errors import InvalidInputError


def test_labels_become_codes_and_classes():
    codes, classes = check_labels(["b", "", "a", None], 4, "Estimator")
    assert codes.tolist() == [1, -1, 0, -1]
    assert classes.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "Estimator requires y"),
        ([0.0, np.inf], "infinity"),
        ([0, 1, 1], "2 samples; got 3 labels"),
        ([[0, 1], [1, 0]], "1d array"),
        ([0.5, 1.5], "Unknown label type"),
    ],
)
def test_what_are_no_labels_is_refused(y, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        check_labels(y, 2, "Estimator")
    assert "\n" not in str(caught.value)


def test_a_single_class_is_a_warning_of_the_callers_caller():
    def fit():
        return check_labels([3, -1], 2, "Estimator")

    with pytest.warns(UserWarning, match=r"only one class is labelled \(3\).*rename it") as caught:
        fit()
    assert caught[0].filename == __file__


def test_errors_become_one_line():
    with pytest.raises(InvalidInputError, match=r"^a b$"), one_line_errors():
        raise ValueError("a\n  b")


@pytest.mark.parametrize("missing", ["nan", "-1", "None"])
def test_a_text_that_stood_for_a_missing_label_is_a_warning(missing):
    with pytest.warns(UserWarning, match=f"a class is called '{missing}': if that means unlabelled"):
        codes, classes = check_labels(np.array(["a", missing, "b"]), 3, "Estimator")
    assert missing in classes
    assert (codes >= 0).all()


def test_missing_labels_themselves_are_no_class(recwarn):
    assert check_labels(np.array(["a", None, "b", np.nan, ""], dtype=object), 5, "Estimator")[0].tolist() == [
        0,
        -1,
        1,
        -1,
        -1,
    ]
    assert check_labels([0, -1, 1], 3, "Estimator")[0].tolist() == [0, -1, 1]
    assert not recwarn.list
