import numpy as np
import pytest

from grande_gnn.baselines import opf
from grande_gnn.baselines.opf import OPF, OPFSemi, spanning_tree


@pytest.fixture
def opfython(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a log into the working directory
    return pytest.importorskip("opfython.models", reason="opfython is in the test-all extra")


def clouds(n, d, classes, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return (rng.normal(size=(classes, d))[y] * spread + rng.normal(size=(n, d))).astype(np.float32), y


def partly(y, share, seed):
    """Labels with about that share known, the first of each class among them."""
    known = np.random.default_rng(seed).random(len(y)) < share
    known[np.unique(y, return_index=True)[1]] = True
    return np.where(known, y, -1)


@pytest.mark.parametrize(("d", "classes", "seed"), [(2, 2, 0), (5, 4, 1), (40, 3, 2)])
def test_agrees_with_opfython(opfython, d, classes, seed):
    X, y = clouds(90, d, classes, seed)
    given = partly(y, 0.3, seed)
    known = given >= 0
    reference = opfython.SupervisedOPF()
    reference.fit(X[known].astype(float), y[known] + 1)
    assert (OPF().fit(X, given).transduction_ + 1 == reference.predict(X.astype(float))).all()


@pytest.mark.parametrize(("d", "classes", "seed"), [(2, 2, 0), (5, 4, 1), (40, 3, 2)])
def test_semi_agrees_with_opfython(opfython, d, classes, seed):
    X, y = clouds(90, d, classes, seed)
    given = partly(y, 0.3, seed)
    known = given >= 0
    reference = opfython.SemiSupervisedOPF()
    reference.fit(X[known].astype(float), y[known] + 1, X[~known].astype(float))
    labels = np.array([node.predicted_label for node in reference.subgraph.nodes])
    ours = OPFSemi().fit(X, given).transduction_ + 1
    assert (np.r_[ours[known], ours[~known]] == labels).all()


def minimax_costs(distance, sources):
    """Every sample's cheapest longest arc from the sources, by relaxing all arcs until nothing changes."""
    cost = np.where(sources, 0.0, np.inf)
    while True:
        cheaper = np.minimum(cost, np.maximum(cost[:, None], distance).min(axis=0))
        if (cheaper == cost).all():
            return cost
        cost = cheaper


def test_costs_are_minimax_path_costs():
    X, y = clouds(30, 3, 3, seed=5)
    distance = ((X[:, None].astype(float) - X[None]) ** 2).sum(-1)
    tree = spanning_tree(X)
    prototypes = opf.prototypes(tree, y)
    forest = opf.conquer(tree, prototypes, y)
    np.testing.assert_allclose(forest.cost, minimax_costs(distance, prototypes))
    assert (np.diff(forest.cost[forest.order]) >= 0).all()


def test_tree_is_minimal_and_the_same_row_by_row(monkeypatch):
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    X, _ = clouds(60, 4, 2, seed=3)
    tree = spanning_tree(X)
    reference = minimum_spanning_tree(cdist(X, X, "sqeuclidean"))
    assert tree.weight.sum() == pytest.approx(reference.sum())
    monkeypatch.setattr(opf, "_BLOCK_BYTES", 1)
    by_rows = spanning_tree(X)
    np.testing.assert_array_equal(by_rows.child, tree.child)
    np.testing.assert_allclose(by_rows.weight, tree.weight)


def test_blocks_of_queries_do_not_matter(monkeypatch):
    X, y = clouds(80, 4, 3, seed=4)
    given = partly(y, 0.3, 4)
    whole = OPF().fit(X, given).transduction_
    monkeypatch.setattr(opf, "_BLOCK_BYTES", 24 * 100)
    np.testing.assert_array_equal(OPF().fit(X, given).transduction_, whole)


def test_labelled_samples_keep_their_label_when_supervised():
    X, y = clouds(100, 3, 4, seed=8)
    assert (OPF().fit(X, y).transduction_ == y).all()


def test_duplicates_are_joined_at_no_cost():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 300)) * 30, 3, axis=0).astype(np.float32)
    assert (np.sort(spanning_tree(X).weight)[:10] == 0).all()


def test_clamp_keeps_the_given_labels():
    X, y = clouds(120, 2, 3, seed=1, spread=0.5)
    given = partly(y, 0.5, 1)
    known = given >= 0
    assert (OPFSemi().fit(X, given).transduction_[known] != y[known]).any()
    assert (OPFSemi(clamp=True).fit(X, given).transduction_[known] == y[known]).all()


def test_of_equal_offers_the_first_counts():
    line = opf.Tree(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.0]))
    forest = opf.conquer(line, np.array([True, False, True]), np.array([0, -1, 1]))
    assert forest.codes.tolist() == [0, 0, 1]
    assert forest.cost.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_equally_near_samples_the_one_conquered_first_answers(order):
    forest = opf.Forest(np.zeros(2), np.array([5, 7]), np.array(order))
    known = np.array([[-1.0], [1.0]], dtype=np.float32)
    assert opf._classify(forest, known, np.zeros((1, 1), dtype=np.float32)).tolist() == [[5, 7][order[0]]]
