"""Given graphs with a fixed split."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.errors import FileFormatError
from grande_gnn.experiments import split_graphs
from grande_gnn.experiments.split_graphs import (
    PUBLISHED,
    SplitGraph,
    evaluate_split,
    load_split_graph,
)


def arrays(n=60, d=12, seed=0):
    """Three groups that are joined inside, with words of their own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    words = sp.csr_matrix(
        (rng.random((n, d)) < np.where(np.arange(d) % 3 == labels[:, None], 0.7, 0.1)) * 1.0
    )
    pairs = np.array([(a, b) for a in range(n) for b in range(a) if labels[a] == labels[b]])
    edges = pairs[rng.choice(len(pairs), 150, replace=False)]
    split = np.where(np.arange(n) < 9, 0, np.where(np.arange(n) < 24, 1, 2))
    return {
        "data": words.data, "indices": words.indices, "indptr": words.indptr, "shape": np.array(words.shape),
        "labels": labels, "edges": edges, "split": split,
    }  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "groups.npz"
    np.savez(path, **arrays())
    return path


def test_what_a_file_holds(file):
    content, data = arrays(), load_split_graph(file)
    dense = sp.csr_matrix(
        (content["data"], content["indices"], content["indptr"]), content["shape"]
    ).toarray()
    assert data.name == "groups"
    np.testing.assert_allclose(data.features.toarray().sum(axis=1)[dense.sum(axis=1) > 0], 1, rtol=1e-6)
    np.testing.assert_array_equal(data.features.toarray() > 0, dense > 0)
    q, i = content["edges"].T
    assert data.graph.n_nodes == 60
    assert set(zip(q.tolist(), i.tolist(), strict=True)) <= set(
        zip(*(ends.tolist() for ends in data.graph.edges("cpu")), strict=True)
    )
    np.testing.assert_array_equal(data.known[:9], content["labels"][:9])
    assert (data.known[9:] == -1).all()


def test_accuracy_counts_the_labelled_nodes_of_one_part(file):
    data = load_split_graph(file)
    labels = data.labels.copy()
    labels[30] = -1
    data = SplitGraph(data.name, data.features, labels, data.graph, data.split)
    predictions = np.where(np.arange(60) < 40, data.labels, 7)
    assert data.accuracy(predictions, 1) == 100
    assert data.accuracy(predictions, 2) == pytest.approx(100 * 15 / 35)


def test_groups_are_found_and_degrees_compared_seed_by_seed(file):
    data = load_split_graph(file)
    ours, plain = (
        evaluate_split(data, "gcn", name, seeds=3, device="cpu") for name in ("grande", "centrality")
    )
    assert ours.test.shape == ours.validation.shape == (3,)
    assert ours.test.mean() > 90
    assert plain.sigma is None
    difference = ours.minus(plain)
    assert difference.mean == pytest.approx((ours.test - plain.test).mean())


def test_sigma_is_the_best_on_the_validation_nodes(file):
    data = load_split_graph(file)
    each = {s: evaluate_split(data, "sgc", sigmas=[s], seeds=2, device="cpu", epochs=5) for s in (1e-3, 5.0)}
    both = evaluate_split(data, "sgc", sigmas=list(each), seeds=2, device="cpu", epochs=5)
    best = max(each.values(), key=lambda scores: scores.validation.mean())
    np.testing.assert_array_equal(both.validation, best.validation)


def test_sigma_is_not_chosen_on_the_test_nodes(file, monkeypatch):
    data = load_split_graph(file)
    right, wrong = data.labels, (data.labels + 1) % (data.labels.max() + 1)
    answers = [
        np.where(data.split == part, right, wrong) for part in (1, 2)
    ]  # good on validation, good on test
    outcomes = [SimpleNamespace(predictions=answer) for answer in answers]
    monkeypatch.setattr(split_graphs, "train", lambda *given, **options: outcomes)
    scores = evaluate_split(data, "sgc", sigmas=[0.1, 5.0], seeds=1, device="cpu")
    assert scores.sigma == 0.1
    assert scores.validation == [100]
    assert scores.test == [0]


def test_the_test_nodes_do_not_matter_for_the_training(file):
    data = load_split_graph(file)
    hidden = SplitGraph(
        data.name, data.features, np.where(data.split == 2, 0, data.labels), data.graph, data.split
    )
    one, other = (evaluate_split(d, "gcn", seeds=1, device="cpu", epochs=20) for d in (data, hidden))
    np.testing.assert_array_equal(one.validation, other.validation)


def test_settings_are_the_published_ones_unless_others_are_given(file, monkeypatch):
    seen = []
    real = split_graphs.train

    def spy(features, graph, replicas, n_classes, settings, **options):
        seen.append((settings, replicas[0].hidden))
        return real(features, graph, replicas, n_classes, settings, **options)

    monkeypatch.setattr(split_graphs, "train", spy)
    data = load_split_graph(file)
    evaluate_split(data, "gcn", seeds=1, device="cpu")
    evaluate_split(data, "gcn", seeds=1, device="cpu", epochs=3, hidden=5)
    (published, width), (own, narrow) = seen
    assert {name: getattr(published, name) for name in PUBLISHED["gcn"].settings} == dict(
        PUBLISHED["gcn"].settings
    )
    assert (width, own.epochs, own.lr, narrow) == (16, 3, 0.01, 5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.zeros(5, int)}, "one label and one entry of 'split' for each of its 60 rows"),
        ({"split": np.full(60, 0)}, "labelled validation nodes"),
        ({"indices": np.full(9, 99)}, "must hold sparse features"),
        ({"edges": np.array([[0, 60]])}, "got"),
        ({"shape": np.array(["a", "b"])}, "shape"),
    ],
)
def test_says_what_is_wrong(tmp_path, change, words):
    path = tmp_path / "wrong.npz"
    np.savez(path, **(arrays() | change))
    with pytest.raises((FileFormatError, ValueError), match=words):
        load_split_graph(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.arange(60) * 10**15}, "no more classes than rows; got the label 59000000000000000"),
        ({"data": np.full(500, 1e-42)}, "features must be finite"),  # divided by their sum, they are infinite
    ],
)
def test_numbers_that_no_training_can_use_are_refused(tmp_path, changes, message):
    content = arrays()
    changes = {name: value[: len(content[name])] for name, value in changes.items()}
    np.savez(tmp_path / "g.npz", **content | changes)
    with pytest.raises(FileFormatError, match=message):
        load_split_graph(tmp_path / "g.npz")


def test_very_many_columns_take_no_memory(tmp_path):
    np.savez(tmp_path / "g.npz", **arrays() | {"shape": np.array([60, 2**31 - 1])})
    data = load_split_graph(tmp_path / "g.npz")
    assert data.features.shape == (60, 2**31 - 1)
