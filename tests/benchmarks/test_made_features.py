"""The made features are as hard as Corel5k's, and reproducible."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def made():
    sys.path.insert(0, str(ROOT))
    try:
        import made_features

        return made_features
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def committed():
    with (ROOT / "results" / "made_features.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("measure", ["intrinsic_dimension", "purity"])
def test_neighborhoods_are_within_a_fifth_of_corel5k(made, committed, measure):
    corel = next(float(row[measure]) for row in committed if row["features"] == "corel5k")
    for row in committed:
        if row["features"] == "made":
            assert float(row[measure]) == pytest.approx(corel, rel=0.2)
    now = made.neighborhoods(*made.made_features(5000, 50), n_asked=300)
    assert now[measure] == pytest.approx(corel, rel=0.2)


def test_the_dimension_of_a_flat_cloud_is_its_own(made):
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((4000, 4)) @ rng.standard_normal((4, 30))
    # Directions of a 4-dimensional cloud lie on a 3-dimensional sphere.
    assert made.neighborhoods(flat, np.zeros(4000, int))["intrinsic_dimension"] == pytest.approx(3, rel=0.15)


def test_one_class_is_pure_and_random_classes_are_not(made):
    X, _ = made.made_features(2000, 10)
    assert made.neighborhoods(X, np.zeros(2000, int))["purity"] == 1
    mixed = np.random.default_rng(0).integers(10, size=2000)
    assert made.neighborhoods(X, mixed)["purity"] == pytest.approx(0.1, abs=0.02)


def test_features_follow_from_the_seed_and_fill_a_given_array(made):
    X, y = made.made_features(300, 5, 16)
    half = np.empty((300, 16), np.float16)
    again, same = made.made_features(300, 5, 16, out=half)
    assert again is half
    assert (same == y).all()
    np.testing.assert_array_equal(half, X.astype(np.float16))
    assert not np.array_equal(made.made_features(300, 5, 16, seed=1)[0], X)


def test_few_labels_are_right_and_as_many_as_asked(made):
    y = np.repeat(np.arange(4), 25)
    codes = made.few_labels(y, 3)
    assert np.bincount(codes[codes >= 0]).tolist() == [3] * 4
    assert (codes[codes >= 0] == y[codes >= 0]).all()
