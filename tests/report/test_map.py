"""The map: inside the unit square, reproducible, similar images close together, and its method named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from grande_gnn.report.map import image_map, unit_square


def clusters(n, n_classes=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return (rng.normal(size=(n_classes, 30)) * 5)[y] + rng.normal(size=(n, 30)), y


def agreement(position, y):
    near = NearestNeighbors(n_neighbors=6).fit(position).kneighbors(position, return_distance=False)[:, 1:]
    return (y[near] == y[:, None]).mean()


@pytest.mark.parametrize("landmarks", [1000, 80])
def test_clusters_stay_together(landmarks):
    X, y = clusters(300)
    position, method = image_map(X, landmarks=landmarks)
    assert position.min() >= 0
    assert position.max() <= 1
    assert agreement(position, y) > 0.95
    assert "t-SNE of the first 30 principal components" in method
    assert ("80 images drawn at random" in method) == (landmarks == 80)


def test_a_coarse_map_keeps_clusters_together_as_well_as_a_fine_one(monkeypatch):
    """Up to FEWER_LANDMARKS landmarks, t-SNE takes fewer and coarser steps."""
    X, y = clusters(900, n_classes=12, seed=3)
    coarse, _ = image_map(X, landmarks=600)
    monkeypatch.setattr("grande_gnn.report.map.FEWER_LANDMARKS", 100)
    fine, _ = image_map(X, landmarks=600)
    assert not np.array_equal(coarse, fine)
    assert agreement(coarse, y) > agreement(fine, y) - 0.01


def test_the_number_of_threads_does_not_matter():
    X, _ = clusters(200)
    with threadpool_limits(2):
        two, _ = image_map(X, landmarks=100)
    with threadpool_limits(1):
        one, _ = image_map(X, landmarks=100)
    np.testing.assert_array_equal(one, two)


def test_the_same_seed_gives_the_same_map_and_the_method_does_not_depend_on_it():
    X, _ = clusters(60)
    first, second = image_map(X, random_state=0), image_map(X, random_state=0)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == image_map(X, random_state=7)[1]


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11])
@pytest.mark.parametrize("d", [1, 2, 60])
def test_small_sets_have_a_finite_map(n, d):
    position, method = image_map(np.random.default_rng(0).normal(size=(n, d)))
    assert position.shape == (n, 2)
    assert np.isfinite(position).all()
    assert method.startswith("t-SNE" if n >= 10 else "Principal components")


@pytest.mark.parametrize("n", [1, 5, 40])
def test_identical_images_share_one_place(n):
    position, _ = image_map(np.ones((n, 7)))
    np.testing.assert_array_equal(position, 0.5)


def test_duplicates_do_no_harm():
    X, y = clusters(40)
    position, _ = image_map(np.repeat(X, 2, axis=0))
    assert np.isfinite(position).all()
    assert agreement(position, np.repeat(y, 2)) > 0.9


def test_unit_square_keeps_order_and_centers_a_flat_axis():
    np.testing.assert_allclose(unit_square([[1, 4], [3, 4], [2, 4]]), [[0, 0.5], [1, 0.5], [0.5, 0.5]])
