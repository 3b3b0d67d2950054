import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from grande_gnn.baselines.lds import LDS, AllPairs, DifferentiableAdam, NearPairs, Search, split_labelled
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph, knn_graph


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    y = np.arange(24) % 2
    X = (rng.normal(size=(2, 5)) * 2)[y] + rng.normal(size=(24, 5))
    return X.astype(np.float32), y, np.where(np.arange(24) < 12, y, -1)


def dense_operator(graph):
    A = torch.from_numpy(graph.to_scipy(np.float32).toarray())
    scale = A.sum(1).rsqrt()
    return scale[:, None] * A * scale


@pytest.mark.parametrize("pairs", [AllPairs, NearPairs])
def test_certain_edges_propagate_like_the_graph(data, pairs):
    X = data[0]
    graph = knn_graph(X, 5)
    edges = pairs(graph, torch.device("cpu"))
    H = torch.randn(24, 3)
    drawn = edges.sample(edges.theta, torch.Generator().manual_seed(0))(H)
    torch.testing.assert_close(drawn, dense_operator(graph) @ H)


def test_near_pairs_are_the_two_step_neighborhood():
    line = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], 5)
    edges = NearPairs(line, torch.device("cpu"))
    pairs = set(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True))
    assert pairs == {(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (1, 3), (2, 4)}
    assert edges.theta.sum() == 4


@pytest.mark.parametrize("pairs", [AllPairs, NearPairs])
def test_edges_are_drawn_with_their_probability(pairs):
    edges = pairs(Graph.from_edges([0, 1], [1, 2], 3), torch.device("cpu"))
    generator = torch.Generator().manual_seed(1)
    theta = edges.theta * 0.3
    ones = torch.eye(3)
    hits = [(edges.sample(theta, generator)(ones)[0, 1] > 0).item() for _ in range(2000)]
    assert np.mean(hits) == pytest.approx(0.3, abs=0.04)


def test_the_gradient_of_drawn_edges_reaches_the_probabilities_of_both_ends():
    edges = AllPairs(Graph.from_edges([0, 1, 2], [1, 2, 3], 4), torch.device("cpu"))
    theta = (edges.theta * 0.5).requires_grad_()
    H, seed = torch.randn(4, 3), 5
    out = edges.sample(theta, torch.Generator().manual_seed(seed))(H).square().sum()
    (ours,) = torch.autograd.grad(out, theta)
    drawn = torch.bernoulli(theta.detach(), generator=torch.Generator().manual_seed(seed)).requires_grad_()
    adjacency = drawn.triu(1) + drawn.triu(1).T
    scale = (adjacency.sum(1, keepdim=True) + 1).rsqrt()
    (expected,) = torch.autograd.grad((scale * (adjacency @ (scale * H) + scale * H)).square().sum(), drawn)
    torch.testing.assert_close(ours, expected)


def test_adam_is_torchs():
    start, generator = torch.randn(4, 3), torch.Generator().manual_seed(0)
    reference = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([reference], lr=0.02)
    weights: tuple = (start.clone(),)
    ours = DifferentiableAdam(weights, 0.02)
    for _ in range(20):
        gradient = torch.randn(4, 3, generator=generator)
        reference.grad = gradient.clone()
        optimizer.step()
        weights = ours.step(weights, (gradient,))
    torch.testing.assert_close(weights[0], reference.detach(), atol=1e-6, rtol=1e-5)


class Weighted(AllPairs):
    """Edges with real weights instead of draws, so that differences of the loss can be taken."""

    def __init__(self, graph, device):
        super().__init__(graph, device)
        self.theta = self.theta.double()
        self.mask = torch.ones_like(self.theta).triu(1)

    def sample(self, theta, generator):
        adjacency = theta * self.mask + (theta * self.mask).T
        scale = (adjacency.sum(1, keepdim=True) + 1).rsqrt()
        return lambda H: scale * (adjacency @ (scale * H) + scale * H)


def test_hypergradient_through_the_inner_steps(data):
    X, _, given = data
    X = torch.from_numpy(X).double()
    graph = knn_graph(X.numpy(), 4)
    params = LDS(tau=4, inner_steps=4, dropout=0.0, eta=1e-3, hidden=4, random_state=0)

    def trained(theta):
        search = Search(params, X, given, Weighted(graph, X.device))
        search.theta = theta
        weights = search.train_weights()
        rows = search.parts[1]
        return search, cross_entropy(search.logits(weights, theta)[rows], search.codes[rows]).item()

    middle = Weighted(graph, X.device).theta * 0.4 + 0.2  # away from 0 and 1, where the clip acts
    search, _ = trained(middle)
    gradient = (middle - search.theta) / params.eta
    for i, j in [(0, 1), (2, 9), (5, 20), (11, 17)]:
        step = torch.zeros_like(middle)
        step[i, j] = 1e-5
        difference = (trained(middle + step)[1] - trained(middle - step)[1]) / 2e-5
        assert gradient[i, j].item() == pytest.approx(difference, rel=1e-4, abs=1e-9)
    assert (gradient[torch.tril_indices(24, 24).unbind()] == 0).all()


def test_probabilities_stay_probabilities_and_move(data):
    X, _, given = data
    X = torch.from_numpy(X)
    edges = AllPairs(knn_graph(X.numpy(), 4), X.device)
    search = Search(LDS(eta=50.0, inner_steps=20, random_state=0), X, given, edges)
    search.train_weights()
    assert search.theta.min() >= 0
    assert search.theta.max() <= 1
    assert (search.theta != edges.theta).any()
    assert ((search.theta > 0) & (search.theta < 1)).any()


@pytest.mark.parametrize("factor", [1e9, float("nan")])
def test_an_exploded_gradient_leaves_the_graph_alone(data, factor, monkeypatch):
    X, _, given = data
    X = torch.from_numpy(X)
    search = Search(LDS(random_state=0), X, given, AllPairs(knn_graph(X.numpy(), 4), X.device))
    before = search.theta.clone()
    monkeypatch.setattr(
        "grande_gnn.baselines.lds.cross_entropy", lambda *arguments: factor * cross_entropy(*arguments)
    )
    search._update_theta(search._new_weights(), search.theta.clone().requires_grad_())
    assert (search.theta == before).all()


def test_each_class_trains_and_parts_are_disjoint():
    codes = np.array([0] * 8 + [1] * 2 + [2] + [-1] * 5)
    split = split_labelled(codes, "tots", np.random.default_rng(0))
    assert [np.bincount(codes[part], minlength=3).tolist() for part in split] == [
        [4, 1, 1],
        [2, 1, 0],
        [2, 0, 0],
    ]
    assert sorted(np.concatenate(split).tolist()) == list(range(11))
    thirds = split_labelled(np.repeat([0, 1], 6), "tos", np.random.default_rng(0))
    assert [len(part) for part in thirds] == [4, 4, 4]


def test_parts_without_labels_fall_back():
    split = split_labelled(np.array([0, 1, -1]), "tots", np.random.default_rng(0))
    assert [part.tolist() for part in split] == [[0, 1]] * 3


def test_candidates_agree_where_there_are_no_others(data):
    """On a complete first graph all pairs are near: both kinds train the same model but for their draws."""
    X, y, given = data
    accuracy = {
        kind: np.mean(
            LDS(n_neighbors=6, candidates=kind, rounds=2, inner_steps=60, device="cpu", random_state=0)
            .fit(X, given).transduction_ == y
        )
        for kind in ("all", "two-hop")
    }  # fmt: skip
    assert min(accuracy.values()) > 0.8


@pytest.mark.parametrize(("parameter", "value"), [("metric", "taxi"), ("candidates", "some")])
def test_refuses_what_it_does_not_know(data, parameter, value):
    X, _, given = data
    with pytest.raises(InvalidInputError, match=f"{parameter} must be one of .*; got '{value}'"):
        LDS(**{parameter: value}).fit(X, given)


def test_the_published_defaults():
    assert LDS().get_params() == {
        "n_neighbors": 10, "metric": "euclidean", "candidates": "auto", "hidden": 16, "dropout": 0.5,
        "weight_decay": 5e-4, "lr": 0.02, "tau": 5, "eta": 1.0, "inner_steps": 400, "rounds": 100, "patience": 20,
        "n_graphs": 16, "pattern": "tots", "device": "auto", "random_state": None,
    }  # fmt: skip


@pytest.fixture
def search_with(data):
    """A search with these parameters, its certain first graph, and new weights."""

    def make(**options):
        X = torch.from_numpy(data[0])
        search = Search(LDS(random_state=0, **options), X, data[2], AllPairs(knn_graph(data[0], 4), X.device))
        return search, tuple(w.detach() for w in search._new_weights())

    return make


def test_weight_decay_is_half_the_square_of_the_first_weights(search_with):
    losses = []
    for decay in (0.0, 0.4):
        search, weights = search_with(dropout=0.0, weight_decay=decay)
        losses.append(search._train_loss(weights, search.theta))
    torch.testing.assert_close(losses[1] - losses[0], 0.2 * weights[0].square().sum())


def test_dropout_leaves_the_mean_of_the_logits_as_it_is(search_with):
    search, weights = search_with()
    whole = search.logits(weights, search.theta)
    draws = torch.stack([search.logits(weights, search.theta, 0.5) for _ in range(1500)])
    error = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - whole).abs() < 5 * error).all()


def test_the_answer_is_the_mean_over_several_graphs(search_with, monkeypatch):
    search, weights = search_with(n_graphs=16)
    drawn = iter(torch.arange(1.0, 17.0))
    monkeypatch.setattr(search, "logits", lambda *_: next(drawn) * torch.ones(24, 2))
    assert (search._mean_logits(weights) == 8.5).all()


@pytest.mark.parametrize(("right", "answered"), [([12, 3, 0], 0), ([0, 12, 5], 1), ([3, 5, 12, 0, 0, 12], 2)])
def test_the_best_round_is_answered_and_patience_ends_the_search(
    search_with, data, right, answered, monkeypatch
):
    search, weights = search_with(rounds=len(right), patience=3)
    search.parts[2] = torch.arange(12)  # all labelled samples decide when to stop
    y = torch.from_numpy(data[1])
    rounds = [torch.eye(2)[torch.where(torch.arange(24) < count, y, 1 - y)] for count in right]
    left = iter(rounds)
    monkeypatch.setattr(search, "train_weights", lambda: weights)
    monkeypatch.setattr(search, "_mean_logits", lambda _: next(left))
    np.testing.assert_array_equal(search.run(), rounds[answered].argmax(1))
    assert len(list(left)) == max(0, len(right) - answered - 4)
