"""New samples: which fitted samples they join, and what they are then answered, by brute force."""

import math
import tracemalloc

import numpy as np
import pytest
import torch

from grande_gnn import GrandeClassifier, reciprocal_knn_graph
from grande_gnn.classifier import new_samples
from grande_gnn.classifier.new_samples import FrozenDiffusion, attach, logits_of_new
from grande_gnn.degree import Grande
from grande_gnn.engine import Settings
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Neighbors

FITTED = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
NEW = np.random.default_rng(1).normal(size=(25, 3)).astype(np.float32)


def _grid(n):
    return np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2).astype(np.float32)


CASES = {
    "normal": (FITTED, NEW, 8),
    "k = 1": (FITTED, NEW, 1),
    "k = 2": (FITTED, NEW, 2),
    "k = n": (FITTED, NEW, 60),
    "k = n + 1": (FITTED, NEW, 61),
    "k far above n": (FITTED[:5], 4 * NEW, 40),
    "one fitted sample": (FITTED[:1], NEW, 5),
    "far away": (FITTED, NEW + 100, 8),
    "ties": (_grid(8), _grid(7) + 0.5, 6),
    "ties at the radius": (_grid(8), np.array([[3.0, 8.0], [-1.0, 4.0], [8.0, 8.0]], dtype=np.float32), 6),
    "many duplicates": (np.repeat(FITTED[:4], 30, axis=0), NEW, 10),
    "duplicates at the cut": (np.tile(FITTED[:4], (60, 1)), NEW, 90),
    "an offset of 1e4": (FITTED + 1e4, NEW + 1e4, 8),
}


def attached(fitted, new, k):
    """The fitted neighbors that :func:`attach` gives each new sample."""
    found = attach(new, Neighbors(fitted), k)
    assert found.n_new == len(new)
    return [found.fitted[found.new == m].tolist() for m in range(len(new))]


@pytest.mark.parametrize("name", CASES)
def test_attaches_to_the_neighbors_it_would_have_had(name):
    """As the last row of the data it would be reciprocal to exactly these; to its nearest if to none."""
    fitted, new, k = CASES[name]
    for x, got in zip(new, attached(fitted, new, k), strict=True):
        n = len(fitted)
        graph = reciprocal_knn_graph(np.vstack([fitted, x]), k)
        expected = graph.indices[graph.indptr[n] : graph.indptr[n + 1] - 1].tolist()
        distance = np.sqrt(((fitted.astype(float) - x) ** 2).sum(1))
        assert sorted(got) == (expected or [distance.argmin()])
        assert (np.diff(distance[got]) >= 0).all()  # nearest first


@pytest.mark.parametrize("name", ["normal", "ties", "duplicates at the cut"])
def test_attachments_do_not_depend_on_other_new_samples(name):
    fitted, new, k = CASES[name]
    together = attached(fitted, new, k)
    assert together == [attached(fitted, x[None], k)[0] for x in new]


def test_the_fitted_samples_are_not_copied(monkeypatch):
    """Candidates are measured where they lie: there may be gigabytes of them, and many blocks of new samples."""
    copied = []
    cat = torch.cat
    monkeypatch.setattr(torch, "cat", lambda parts: copied.extend(map(len, parts)) or cat(parts))
    fitted = np.random.default_rng(0).normal(size=(2**13, 2)).astype(np.float32)
    Neighbors(fitted).query(NEW[:, :2], 8)
    assert max(copied) < 2**13


def test_the_head_of_many_fitted_samples_is_computed_in_blocks(monkeypatch):
    """In float64 the features take twice their memory, and the hidden layer as much again."""
    rng = np.random.default_rng(0)
    parameters = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in {"weight1": (64, 32), "bias1": 32, "weight2": (32, 3), "bias2": 3}.items()
    }
    X = rng.normal(size=(4001, 64)).astype(np.float32)
    frozen = FrozenDiffusion(parameters, np.ones(4001), Grande(0.2), None, Settings("appnp"))
    whole = frozen.head(X)
    monkeypatch.setattr(new_samples, "LARGEST_BLOCK", 100 * 64)
    tracemalloc.start()
    blocks = frozen.head(X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-12)
    assert most < X.nbytes / 2


# -- answers ------------------------------------------------------------------------------------------


def by_hand(clf, x, model, degree):
    """The new sample as one more row of a dense problem whose other rows do not see it, in float64."""
    X, p, n = FITTED.astype(np.float64), clf.parameters_, len(FITTED)
    k = clf.n_neighbors
    rows = np.vstack([X, x.astype(np.float64)])

    def head(v):
        if "weight1" in p:
            return np.maximum(v @ p["weight1"] + p["bias1"], 0) @ p["weight2"] + p["bias2"]
        return v @ p["weight"] + (0 if after else p["bias"])

    after = model == "sgc" and degree == "centrality"
    H = head(rows)
    whole = reciprocal_knn_graph(np.vstack([FITTED, x]), k).to_scipy(float).toarray()
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = reciprocal_knn_graph(FITTED, k).to_scipy(float).toarray()
    A[n] = whole[n]
    assert A[n].sum() > 1  # the sample really was placed where it is reciprocal
    rho = np.sqrt(((H[:, None] - H[None]) ** 2).sum(-1))
    largest = (rho * A)[:n].max()  # fitted distances set the scale
    delta = A.sum(1)
    if degree == "grande":
        delta = delta + (A * np.exp(np.minimum((rho / largest) ** 2 / clf.sigma, math.log(1e12)))).sum(
            1
        ) / A.sum(1)
    np.testing.assert_allclose(clf.degree_, delta[:n], rtol=1e-4)
    P = A / np.sqrt(delta)[:, None] / np.sqrt(delta)[None]
    alpha, hops = (0.1, 10) if model == "appnp" else (0.0, 2)
    Z = H
    for _ in range(hops):
        Z = (1 - alpha) * P @ Z + alpha * H
    z = Z[n] + (p["bias"] if after else 0)
    return np.exp(z - z.max()) / np.exp(z - z.max()).sum()


@pytest.mark.parametrize("hidden", [16, None])
@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["grande", "centrality"])
def test_a_reciprocal_newcomer_gets_the_dense_answer(model, degree, hidden):
    y = np.where(np.arange(60) < 20, (FITTED[:, 0] > 0).astype(int) + (FITTED[:, 1] > 0), -1)
    clf = GrandeClassifier(
        model, degree, 0.3, n_neighbors=8, hidden=hidden, epochs=20, lr=0.02, random_state=0, device="cpu"
    ).fit(FITTED, y)
    place = (FITTED[3] + FITTED[Neighbors(FITTED).lists(2)[3, 1]]) / 2  # between two that are close
    np.testing.assert_allclose(
        clf.predict_proba(place[None])[0], by_hand(clf, place, model, degree), rtol=1e-6
    )


def test_a_user_function_sees_the_graph_with_the_newcomer(blobs, few):
    seen = []

    def count(h, graph):
        seen.append(graph.n_nodes)
        return h.new_tensor(graph.degree)

    X, _ = blobs
    options = {"hidden": 16, "epochs": 5, "random_state": 0, "n_neighbors": 8}
    own = GrandeClassifier("appnp", count, **options).fit(X, few)
    named = GrandeClassifier("appnp", "centrality", **options).fit(X, few)
    new = X[:7] + 0.1
    np.testing.assert_allclose(own.predict_proba(new), named.predict_proba(new), rtol=1e-5)
    assert seen[-7:] == [121] * 7


def test_a_model_whose_numbers_overflow_says_so(three_blobs):
    X, _, codes = three_blobs
    clf = GrandeClassifier("appnp", hidden=4, epochs=2, n_neighbors=5, device="cpu", random_state=0).fit(
        X, codes
    )
    new = X[:2] + np.float32(0.1)
    attachments = attach(new, clf.neighbors_, 5)
    degrees = np.full(len(X), 1e-38)
    with pytest.raises(InvalidInputError, match="too large or too small"), np.errstate(all="ignore"):
        logits_of_new(clf.problem_, clf.parameters_, degrees, new, attachments)
