"""Ranked lists are exact: self, then float64 distance, then index — whatever the data does to float32."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import BallTree

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import exact_search, ranked_lists
from grande_gnn.graph.exact_search import centered_rows, exact_lists, nearest_to_new, rounding_unit

CPU = torch.device("cpu")


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
    ticks = iter(range(100))
    monkeypatch.setattr(exact_search.time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(exact_search, "_PROBED", 640)
    # Ten of 640 samples take one second, so 64 times as many rows against twice as many columns take 64 · 2 · 2.
    assert exact_search.exact_seconds(_normal(1280), 5, CPU) == 1280 / 10 * 1280 / 640
    assert exact_search.exact_seconds(_normal(640), 5, CPU) == 64


def test_consecutive_rows_have_the_lists_they_have_among_all():
    X = np.asarray(HARD["grid"], dtype=np.float32)
    whole = exact_lists(X, 9, CPU)
    for rows in (range(0, 50), range(50, 144), range(7, 8)):
        np.testing.assert_array_equal(exact_lists(X, 9, CPU, 5000, rows=rows), whole[rows.start : rows.stop])


def test_products_of_longer_rows_are_trusted_less():
    """The rounding error of a sum of d products grows like √d, so the bound must, too."""
    assert rounding_unit(40_000) / rounding_unit(400) == pytest.approx((8 + 100) / (8 + 10))


@pytest.mark.parametrize("offset", [0.0, 3.0, 4096.0])
def test_rows_are_centered_and_brought_near_one(offset):
    X = torch.from_numpy(np.round(_normal() * 64) / 64)  # so coarse that the offset rounds nothing away
    centered = centered_rows(X + offset)
    torch.testing.assert_close(centered.mean(0), torch.zeros(X.shape[1]), atol=1e-6, rtol=0)
    assert 0.5 <= centered.abs().max() < 1
    torch.testing.assert_close(centered, centered_rows(X), atol=1e-6, rtol=0)


def test_an_offset_costs_no_second_measurement(monkeypatch):
    """Around their mean rows are short, so float32 settles nearly all of them however far the mean is from 0."""
    measured = []
    real = exact_search.pair_distances
    monkeypatch.setattr(
        exact_search, "pair_distances", lambda X, a, b: (measured.append(len(a)), real(X, a, b))[1]
    )
    counts = []
    for offset in (0, 4096):
        measured.clear()
        exact_lists((np.round(_normal() * 64) / 64 + offset).astype(np.float32), 10, CPU)
        counts.append(sum(measured))
    assert counts[0] == counts[1]
    assert counts[0] < 150 * 26 / 10


def test_products_are_not_rounded_as_a_gpu_may_round_them(monkeypatch):
    """TF32 keeps ten bits of every factor; here the CPU does so wherever the search allows it."""
    chosen = []

    @contextmanager
    def products(precision, device):
        chosen.append(precision)
        yield
        chosen.pop()

    def as_chosen(X):
        return (X.view(torch.int32) & -(2**13)).view(torch.float32) if chosen[-1] == "tf32" else X

    real = torch.addmm
    monkeypatch.setattr(exact_search, "float32_products", products)
    monkeypatch.setattr(
        torch, "addmm", lambda s, a, b, alpha: real(s, as_chosen(a), as_chosen(b), alpha=alpha)
    )
    X = _normal()
    np.testing.assert_array_equal(exact_lists(X, 20, CPU), brute_force(X, 20))
    with pytest.raises(AssertionError), products("tf32", CPU):  # the simulated rounding would be noticed
        torch.testing.assert_close(as_chosen(torch.from_numpy(X)), torch.from_numpy(X))


# -- new samples --------------------------------------------------------------------------------------


def test_new_samples_of_every_block_have_their_own_neighbors():
    rng = np.random.default_rng(5)
    fitted = rng.normal(size=(2**15, 2)).astype(np.float32)
    new = rng.normal(size=(2**10 + 50, 2)).astype(np.float32)  # two blocks of 2⁹ and a part of one
    found, distances = nearest_to_new(new, fitted, 3)
    for row in (0, 511, 512, 1023, 1024, len(new) - 1):
        away = np.sqrt(((fitted.astype(np.float64) - new[row]) ** 2).sum(1))
        nearest = np.lexsort((np.arange(len(fitted)), away))[:3]
        np.testing.assert_array_equal(found[row], nearest)
        np.testing.assert_allclose(distances[row], away[nearest], rtol=1e-12)


@pytest.mark.parametrize("k", [1, 4, 90, 300])
def test_the_blocks_of_fitted_rows_do_not_matter_to_new_samples(k, monkeypatch):
    """Copies in different blocks are tied, and a block may be shorter than the list."""
    monkeypatch.setattr(exact_search, "_ROWS", 37)
    fitted = np.tile(_normal(100, 3), (3, 1))
    new = np.vstack([_normal(103, 3)[100:], fitted[5:8] + np.float32(0.5)])
    found, distances = nearest_to_new(new, fitted, k)
    away = np.sqrt(((fitted[None].astype(np.float64) - new[:, None]) ** 2).sum(2))
    nearest = np.argsort(away, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found, nearest)
    np.testing.assert_allclose(distances, np.take_along_axis(away, nearest, 1), rtol=1e-12)


def test_fitted_rows_are_not_all_made_float64_for_a_new_sample(monkeypatch):
    made, double = [], torch.Tensor.double
    monkeypatch.setattr(torch.Tensor, "double", lambda x: made.append(x.numel()) or double(x))
    monkeypatch.setattr(exact_search, "_ENTRIES", 2**10)
    fitted = _normal(2000, 8)
    nearest_to_new(fitted[:200] + 1, fitted, 3)
    assert max(made) < fitted.size / 8


def test_ties_that_rounding_hides_are_broken_by_index():
    """128 corners of a box are equally far from its middle, which the rounded products around another mean do not see."""
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 7), -1).reshape(-1, 7)
    corners = signs * np.sqrt(np.arange(2, 9))
    others = np.random.default_rng(6).normal(size=(40, 7)) + 50
    fitted = np.vstack([corners, others]).astype(np.float32)
    found, distances = nearest_to_new(np.zeros((1, 7), dtype=np.float32), fitted, 5)
    assert found.tolist() == [[0, 1, 2, 3, 4]]
    assert (distances == distances[0, 0]).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", HARD)
def test_a_gpu_finds_the_same_lists(name):
    np.testing.assert_array_equal(
        ranked_lists(HARD[name], 20, method="exact", device="cuda"), brute_force(HARD[name], 20)
    )


def test_a_sample_far_from_all_others_is_left_out_of_the_center():
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)) + 5
    plain = centered_rows(rows)
    rows[3] = 1e9
    others = torch.arange(300) != 3
    centered = centered_rows(rows)[others]
    assert (centered.mean(0).abs() < 0.05 * centered.abs().max()).all()
    size = plain[others].abs().max() / centered.abs().max()
    assert size == pytest.approx(
        2.0 ** round(float(torch.log2(size))), rel=0.05
    )  # both are scaled by powers of two
    assert centered_rows(torch.ones(5, 2)).tolist() == [[0, 0]] * 5
