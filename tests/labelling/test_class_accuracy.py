"""The accuracy of each class is a precision, shrunk to the confidence where little was held out."""

import numpy as np
import pytest
from scipy.stats import beta

from grande_gnn.labelling.class_accuracy import class_accuracies


def test_hits_and_misses_of_those_that_received_the_class_are_counted():
    received, right = np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 0.0, 0.0])
    found = class_accuracies(received, right, np.ones(4), np.array([0, 0, 1]), np.array([0.9, 0.7, 0.4]))
    assert found[0].value == pytest.approx((2 + 2 * 0.8) / 5)
    assert found[0].low == pytest.approx(beta.ppf(0.025, 3.6, 1.4))
    assert found[0].high == pytest.approx(beta.ppf(0.975, 3.6, 1.4))
    assert (found[0].n, found[1].n) == (3, 1)
    assert found[1].value == pytest.approx(0.8 / 3)


def test_a_class_that_nothing_held_out_received_keeps_a_wide_interval():
    found = class_accuracies(np.array([0]), np.ones(1), np.ones(1), np.array([0, 1]), np.array([0.9, 0.9]))
    assert found[1].n == 0
    assert found[1].value == pytest.approx(0.9)
    assert found[1].high - found[1].low > 0.5


def test_more_held_out_labels_narrow_the_interval_and_weights_count():
    def width(n, weight):
        e = class_accuracies(
            np.zeros(n, dtype=int),
            np.arange(n) % 2.0,
            np.full(n, weight),
            np.zeros(1, dtype=int),
            np.array([0.5]),
        )[0]
        return e.high - e.low

    assert width(100, 1.0) < width(10, 1.0)
    assert width(100, 0.1) == pytest.approx(width(10, 1.0))


def test_certain_classes_have_finite_intervals():
    found = class_accuracies(np.array([0, 0]), np.ones(2), np.ones(2), np.array([0]), np.array([1.0]))
    assert 0 < found[0].low < found[0].value <= found[0].high <= 1
