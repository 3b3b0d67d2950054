"""Whatever a user passes: finite, repeatable answers, or an error of this package; never another exception, never NaN."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grande_gnn import (
    GrandeClassifier,
    Graph,
    LabelledKFold,
    dgcg_graph,
    evaluate,
    grande_degree,
    grande_norm,
    knn_graph,
    labelled_accuracy,
    ranked_lists,
    reciprocal_knn_graph,
)
from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.labelling.suggest import suggest
from grande_gnn.report.map import image_map

X = np.random.default_rng(0).normal(size=(14, 4)).astype(np.float32)
CODES = np.array([0, 1, *[-1] * 12])
QUICK = {"n_neighbors": 4, "epochs": 2, "hidden": 4, "device": "cpu", "random_state": 0}


def fit(features=X, labels=CODES, graph=None, **options):
    """A fitted classifier whose every number is finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = GrandeClassifier(**(QUICK | options)).fit(features, labels, graph)
        p = clf.predict_proba(clf.features_[:3] + np.float32(0.1))
    for array in (clf.label_distributions_, p):
        assert np.isfinite(array).all()
        assert np.allclose(array.sum(axis=1), 1)
    assert np.isfinite(clf.degree_).all()
    return clf


def finite_or_refused(call):
    try:
        return call()
    except GrandeError as error:
        if "\n" in str(error):
            raise AssertionError("the error has several lines") from error
        return None


class Incomparable:
    def __eq__(self, other):
        raise RuntimeError("never")

    __hash__ = None


def two(first, second, rest=None):
    return [first, second, *[rest] * 12]


LABELS = {
    "bytes": np.array(two(b"a", b"b", b"")),
    "bytes in a list": two(b"a", b"b"),
    "decimals": two(Decimal(1), Decimal(2)),
    "a decimal that signals": two(Decimal(1), Decimal(2), Decimal("sNaN")),
    "dates": np.array(two("2020-01-01", "2020-01-02", "NaT"), dtype="M8[D]"),
    "durations": np.array(two(1, 2, "NaT"), dtype="m8[D]"),
    "dates as objects": two(datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "complex": np.arange(14) * 1j,
    "structures": np.zeros(14, dtype=[("a", "f4")]),
    "infinity": np.array(two(np.inf, 1.0, np.nan)),
    "tuples": two((1, 2), (3,)),
    "dicts": two({}, {}),
    "incomparable": two(Incomparable(), Incomparable()),
    "arrays": two(np.arange(2), "a"),
    "a mixture": two("a", 1),
    "nothing": None,
    "one number": 3,
    "one text": "abc",
    "empty": [],
    "ragged": [[1], [2, 3]] * 7,
    "too many dimensions": np.zeros((14, 1, 1)),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_that_name_no_classes_are_refused(case):
    with pytest.raises(GrandeError):
        fit(labels=LABELS[case])


@pytest.mark.parametrize(
    "labels",
    [
        two(Fraction(1, 3), Fraction(1)),
        two(True, False),
        np.array([True, False] * 7),
        two(10**30, 1, -1),
        two(1e308, 1.0, -1.0),
        np.array(two(0, 1, -1), dtype=np.float16),
        np.array(two(0, 1, -1), dtype=np.longdouble),
        two("\ud800", "b", ""),
        two("a\0", "b", " "),
        np.array(two(0, 1, -1), dtype=object),
        range(14),
    ],
)
def test_other_labels_give_finite_answers_or_a_sentence(labels):
    finite_or_refused(lambda: fit(labels=labels))


FEATURES = {
    "flags": X > 0,
    "complex": X + 1j,
    "structures": np.zeros((14, 4), dtype=[("a", "f4")]),
    "dates": np.zeros((14, 4), "M8[s]"),
    "objects": X.astype(object),
    "mixed objects": np.array([[1, "a", None, 2]] * 14, dtype=object),
    "signalling": np.array([[Decimal("sNaN")] * 4] * 14, dtype=object),
    "texts": X.astype(str),
    "bytes": X.astype("S8"),
    "huge": X * np.float32(1e38),
    "beyond float32": X.astype(np.float64) * 1e300,
    "tiny": X * np.float32(1e-42),
    "equal": np.ones((14, 4)),
    "zero": np.zeros((14, 4)),
    "opposite": np.where(X > 0, 3.4e38, -3.4e38),
    "large integers": np.full((14, 4), 2**64 - 1, np.uint64),
    "a list": X[:, 0],
    "three dimensions": X[None],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "number": 3,
    "none": None,
    "text": "abc",
    "NaN": X * np.nan,
    "ragged": [[1], [2, 3]] * 7,
    "dict": {},
    "sparse": sp.csr_matrix(X),
    "half": X.astype(np.float16),
}


@pytest.mark.parametrize("case", FEATURES)
def test_features_of_any_kind(case):
    for normalize in ("none", "l2", "center-l2"):
        finite_or_refused(lambda n=normalize: fit(FEATURES[case], normalize=n))
    for make in (reciprocal_knn_graph, knn_graph, dgcg_graph, ranked_lists):
        finite_or_refused(lambda m=make: m(FEATURES[case], 3))
    finite_or_refused(
        lambda: evaluate(FEATURES[case], np.arange(14) % 2, folds=2, model="sgc", epochs=1, n_neighbors=3)
    )


GRAPHS = {
    "isolated": sp.csr_matrix((14, 14)),
    "identity": sp.identity(14),
    "NaN": sp.identity(14) * np.nan,
    "inf": sp.identity(14) * np.inf,
    "complex": sp.identity(14) * 1j,
    "flags": sp.identity(14).astype(bool),
    "another size": sp.identity(5),
    "dense": np.eye(14),
    "empty lists": np.zeros((14, 0), int),
    "text": "knn",
    "object": object(),
    "negative": -sp.identity(14),
    "number": 3,
    "lists": np.argsort(((X[:, None] - X) ** 2).sum(-1), axis=1),
    "lists of one": np.arange(14, dtype=np.uint64)[:, None],
}


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs_of_any_kind(case):
    finite_or_refused(lambda: fit(graph=GRAPHS[case]))


@pytest.mark.parametrize("case", ["NaN", "inf"])
def test_weights_that_are_not_finite_are_refused(case):
    with pytest.raises(InvalidInputError, match="finite numbers"):
        Graph.from_scipy(GRAPHS[case])


def test_an_edge_given_often_is_an_edge():
    often = sp.coo_matrix((np.ones(512, np.int8), (np.zeros(512, int), np.ones(512, int))), shape=(3, 3))
    assert Graph.from_scipy(often).degree.tolist() == [2, 2, 1]


@pytest.mark.parametrize("sigma", [5e-324, 1e-60, 1e-50, 1e-10, 1e10, 1e300])
@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_every_positive_sigma(sigma, model):
    fit(sigma=sigma, model=model)
    h = torch.from_numpy(X)
    degree = grande_degree(h, knn_graph(X, 3), sigma)
    assert torch.isfinite(degree).all()
    assert torch.isfinite(grande_norm(h, knn_graph(X, 3), sigma)).all()


def test_sigma_below_the_smallest_is_its_limit():
    graph, h = knn_graph(X, 3), torch.from_numpy(X)
    torch.testing.assert_close(grande_degree(h, graph, 1e-60), grande_degree(h, graph, 1e-29))


BAD = (-1, 1.5, "x", [0.2], float("nan"), 10**400, Decimal("0.2"), True)


@pytest.mark.parametrize(
    "name", ["sigma", "lr", "alpha", "dropout", "weight_decay", "epochs", "hidden", "n_hops", "n_neighbors"]
)
def test_parameters_of_any_kind(name):
    for value in (
        BAD if name in ("sigma", "lr", "alpha", "dropout", "weight_decay") else BAD[:5]
    ):  # 10**400 epochs take long
        finite_or_refused(lambda v=value: fit(**{name: v}))


@pytest.mark.parametrize("model", [int, None, 3, object()])
def test_models_that_are_none(model):
    with pytest.raises(GrandeError):
        fit(model=model)


@pytest.mark.parametrize("seed", [0, 2**31, 2**32, 2**64, np.uint64(2**63), -1, 1.5, "0", [1]])
def test_seeds_of_any_kind(seed):
    answers = [finite_or_refused(lambda: fit(random_state=seed).label_distributions_) for _ in range(2)]
    np.testing.assert_array_equal(*answers)
    for call in (
        lambda: list(LabelledKFold(2, shuffle=True, random_state=seed).split(X, np.arange(14) % 2)),
        lambda: image_map(X, random_state=seed)[0],
        lambda: suggest(X, 2, random_state=seed),
    ):
        finite_or_refused(call)
    if seed == 2**32:
        np.testing.assert_array_equal(image_map(X, random_state=seed)[0], image_map(X, random_state=0)[0])


@pytest.mark.parametrize(
    "case",
    [
        "zero",
        "huge",
        "huge in float64",
        "tiny",
        "NaN",
        "integers",
        "flags",
        "complex",
        "short",
        "list",
        "numpy",
        "none",
    ],
)
def test_outputs_of_any_kind(case):
    h = torch.from_numpy(X)
    given_h = {
        "zero": h * 0,
        "huge": h * 1e38,
        "huge in float64": h.double() * 1e300,
        "tiny": h * 1e-42,
        "NaN": h * torch.nan,
        "integers": h.long(),
        "flags": h > 0,
        "complex": h + 0j,
        "short": h[:3],
        "list": h[:, 0],
        "numpy": X,
        "none": None,
    }[case]
    degree = finite_or_refused(lambda: grande_degree(given_h, knn_graph(X, 3)))
    assert degree is None or torch.isfinite(degree).all()
    assert (degree is None) == (case in ("integers", "flags", "complex", "short", "list", "numpy", "none"))


def test_the_scale_of_an_output_does_not_matter_even_where_squares_overflow():
    graph, h = knn_graph(X, 3), torch.from_numpy(X).double()
    expected = grande_degree(h, graph)
    for scale in (1e-100, 1e200, 1e305):
        torch.testing.assert_close(grande_degree(h * scale, graph), expected)


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float32, st.tuples(st.integers(2, 8), st.integers(1, 3)), elements=finite),
    st.floats(1e-300, 1e300),
    st.sampled_from(["none", "l2", "center-l2"]),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_any_finite_features(features, sigma, normalize, k, random):
    labels = [0, 1, *[-1] * (len(features) - 2)]
    options = {"normalize": normalize, "sigma": sigma, "n_neighbors": k, "model": "sgc"}
    first = finite_or_refused(lambda: fit(features, labels, **options))
    again = finite_or_refused(lambda: fit(features, labels, **options))
    if first is not None:
        np.testing.assert_array_equal(first.label_distributions_, again.label_distributions_)
        assert 0 <= labelled_accuracy(first, features, labels) <= 1


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, (7, 2), elements=st.floats(-1e300, 1e300)),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20),
    st.floats(1e-300, 1e300),
    st.permutations(range(7)),
)
def test_the_degree_moves_with_its_nodes(h, edges, sigma, order):
    sources, targets = (np.array([edge[end] for edge in edges], dtype=int) for end in (0, 1))
    degree = grande_degree(torch.from_numpy(h), Graph.from_edges(sources, targets, 7), sigma)
    assert torch.isfinite(degree).all()
    order = np.array(order)  # node order[i] becomes node i
    place = np.argsort(order)
    moved = grande_degree(
        torch.from_numpy(h[order]), Graph.from_edges(place[sources], place[targets], 7), sigma
    )
    torch.testing.assert_close(moved, degree[torch.from_numpy(order)])
