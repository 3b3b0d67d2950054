"""Ranked lists are exact: self, then float64 distance, then index — whatever the data does to float32."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import BallTree

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import ranked_lists
from grande_gnn.graph.exact_search import rounding_unit


def brute_force(X, length):
    """The canonical order from the definition, a row at a time in float64."""
    X = np.asarray(X, dtype=np.float32).astype(np.float64)
    lists = []
    for i, x in enumerate(X):
        distance = np.sqrt(((X - x) ** 2).sum(1))
        distance[i] = -1
        lists.append(np.lexsort((np.arange(len(X)), distance))[:length])
    return np.array(lists)


def _normal(n=150, d=7):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def _grid():
    return np.stack(np.meshgrid(np.arange(12), np.arange(12)), -1).reshape(-1, 2)  # ties everywhere


def _far_clusters():
    """Two groups 2·10⁴ apart, each finer than the float32 expansion ‖x‖² + ‖y‖² − 2xy can see."""
    X = np.random.default_rng(1).normal(scale=0.05, size=(120, 8))
    X[:, 0] += np.where(np.arange(120) % 2, 1e4, -1e4)
    return X


def _outlier():
    X = _normal()
    X[3] = 1e6
    return X


HARD = {
    "normal": _normal(),
    "one feature": _normal(90, 1),
    "grid": _grid(),
    "all equal": np.ones((80, 3)),
    "duplicates": _normal(20)[np.random.default_rng(2).integers(0, 20, size=200)],
    "many copies of one": np.vstack([np.zeros((70, 4)), _normal(30, 4)]),
    "a feature of 1e4": np.hstack([_normal(), np.full((150, 1), 1e4)]),
    "an offset of 1e4": _normal() + 1e4,
    "far clusters": _far_clusters(),
    "an outlier": _outlier(),
    "huge": _normal() * 1e20,
    "minute": _normal() * 1e-25,
}


@pytest.mark.parametrize("method", ["exact", "balltree"])
@pytest.mark.parametrize("name", HARD)
def test_equals_brute_force(name, method):
    for length in (1, 10, 60):
        np.testing.assert_array_equal(
            ranked_lists(HARD[name], length, method=method), brute_force(HARD[name], length)
        )


def test_equals_balltree_on_digits():
    X = load_digits().data  # integers, so distances tie all the time
    distance, found = BallTree(X).query(X, k=120)
    distance[found == np.arange(len(X))[:, None]] = -1
    order = np.lexsort((found, distance), axis=1)
    canonical = np.take_along_axis(found, order, 1)
    distance = np.take_along_axis(distance, order, 1)
    # BallTree may leave out some of those tied at its cut, so compare what lies strictly before it.
    length = 60
    safe = distance[:, length] < distance[:, -1]
    assert safe.mean() > 0.99
    np.testing.assert_array_equal(ranked_lists(X, length)[safe], canonical[safe, :length])


@pytest.mark.parametrize("name", ["normal", "grid", "many copies of one", "far clusters"])
@pytest.mark.parametrize("block_bytes", [1, 5_000, 100_000])
def test_the_block_size_does_not_matter(name, block_bytes):
    np.testing.assert_array_equal(
        ranked_lists(HARD[name], 20, block_bytes=block_bytes), ranked_lists(HARD[name], 20)
    )


@pytest.mark.parametrize("method", ["exact", "balltree"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_k_above_n_lists_everybody(n, method):
    lists = ranked_lists(_normal(n), 50, method=method)
    assert lists.shape == (n, n)
    assert lists.dtype == np.int32
    np.testing.assert_array_equal(lists[:, 0], np.arange(n))
    np.testing.assert_array_equal(np.sort(lists, axis=1), np.tile(np.arange(n), (n, 1)))


def test_the_input_is_left_alone():
    X = _normal()
    before = X.copy()
    ranked_lists(X, 5)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((_normal(), 0), "n_neighbors must be an integer of at least 1; got 0"),
        ((_normal(), 2.5), "n_neighbors must be an integer"),
        (([1.0, 2.0], 1), "one row per sample"),
        (([[np.nan]], 1), "must be finite"),
    ],
)
def test_says_what_is_wrong(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        ranked_lists(*arguments)


def test_refuses_an_unknown_method():
    with pytest.raises(
        InvalidInputError,
        match="method must be one of auto, exact, approximate, faiss, balltree; got 'annoy'",
    ):
        ranked_lists(_normal(), method="annoy")


def test_the_predicted_time_grows_with_the_square_of_the_samples(monkeypatch):
    from grande_gnn.graph import exact_search

    ticks = iter(range(100))
    monkeypatch.setattr(exact_search.time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(exact_search, "_PROBED", 640)
    cpu = exact_search.torch.device("cpu")
    # Ten of 640 samples take one second, so 64 times as many rows against twice as many columns take 64 · 2 · 2.
    assert exact_search.exact_seconds(_normal(1280), 5, cpu) == 1280 / 10 * 1280 / 640
    assert exact_search.exact_seconds(_normal(640), 5, cpu) == 64


def test_consecutive_rows_have_the_lists_they_have_among_all():
    from grande_gnn.graph.exact_search import exact_lists, torch

    X, cpu = np.asarray(HARD["grid"], dtype=np.float32), torch.device("cpu")
    whole = exact_lists(X, 9, cpu)
    for rows in (range(0, 50), range(50, 144), range(7, 8)):
        np.testing.assert_array_equal(exact_lists(X, 9, cpu, 5000, rows=rows), whole[rows.start : rows.stop])


def test_products_of_longer_rows_are_trusted_less():
    """The rounding error of a sum of d products grows like √d, so the bound must, too."""
    assert rounding_unit(40_000) / rounding_unit(400) == pytest.approx((8 + 100) / (8 + 10))
