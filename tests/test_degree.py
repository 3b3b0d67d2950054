"""The degree against its formula in plain loops, its gradient, and what must not change it."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from grande_gnn import degree_centrality, grande_degree
from grande_gnn.degree import Centrality, Custom, Degree, Grande
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph

PATH = Graph.from_edges([0, 1], [1, 2], 3)


def outputs(n, c=3, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, c)))


def by_loops(h, dense, sigma):
    """δ(q) = |N(q)| + mean of 1/f over N(q), one number at a time."""
    n = len(h)
    rho = {(q, i): math.dist(h[q].tolist(), h[i].tolist()) for q in range(n) for i in range(n) if dense[q, i]}
    low, high = min(rho.values()), max(rho.values())
    delta = []
    for q in range(n):
        neighbors = [i for i in range(n) if dense[q, i]]
        inverse = []
        for i in neighbors:
            scaled = (rho[q, i] - low) / (high - low) if high > low else 0.0
            inverse.append(min(math.exp(min(scaled**2 / sigma, 700)), 1e12))
        delta.append(len(neighbors) + sum(inverse) / len(neighbors))
    return delta


@pytest.mark.parametrize("sigma", [0.01, 0.2, 0.7, 1e6])
def test_equals_the_formula_in_loops(tiny, sigma):
    h = outputs(tiny.graph.n_nodes)
    got = grande_degree(h, tiny.graph, sigma)
    np.testing.assert_allclose(got, by_loops(h, tiny.dense, sigma), rtol=1e-12)


def test_worked_by_hand():
    # ρ′ is 0 on 0-1 and 1 on 1-2; with σ = 1 the penalties are 1 and e.
    got = grande_degree(torch.tensor([[0.0], [0.0], [5.0]], dtype=torch.float64), PATH, 1.0)
    np.testing.assert_allclose(got, [2 + 1, 3 + (2 + math.e) / 3, 2 + (1 + math.e) / 2])


def test_centrality_counts_the_node_itself(tiny):
    np.testing.assert_array_equal(degree_centrality(tiny.graph), tiny.dense.sum(1))
    like = torch.empty(1, dtype=torch.float64)
    assert degree_centrality(tiny.graph, like=like).dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_type_and_shape(connected, dtype):
    degree = grande_degree(outputs(8).to(dtype), connected.graph)
    assert degree.dtype == dtype
    assert degree.shape == (8,)


def test_infinite_sigma_makes_every_penalty_one(tiny):
    got = grande_degree(outputs(tiny.graph.n_nodes), tiny.graph, 1e15)
    np.testing.assert_allclose(got, tiny.graph.degree + 1, rtol=1e-12)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 10.0])
def test_the_penalty_is_between_one_and_its_largest(tiny, sigma):
    s = grande_degree(outputs(tiny.graph.n_nodes), tiny.graph, sigma) - degree_centrality(tiny.graph)
    assert (s >= 1).all()
    assert (s <= min(math.exp(min(1 / sigma, 700)), 1e12) * (1 + 1e-12)).all()


def test_a_smaller_sigma_never_lowers_a_degree(connected):
    degrees = torch.stack([grande_degree(outputs(8), connected.graph, s) for s in (0.05, 0.1, 0.2, 0.5, 2)])
    assert (degrees.diff(dim=0) <= 0).all()


@pytest.mark.parametrize("change", [lambda h: 37.0 * h, lambda h: h / 1e5, lambda h: h + outputs(1, seed=9)])
def test_neither_scale_nor_a_constant_row_matters(tiny, change):
    h = outputs(tiny.graph.n_nodes)
    np.testing.assert_allclose(grande_degree(change(h), tiny.graph), grande_degree(h, tiny.graph), rtol=1e-9)


def test_permuting_nodes_permutes_the_degree(tiny):
    n = tiny.graph.n_nodes
    order = np.random.default_rng(1).permutation(n)
    moved = Graph.from_scipy(tiny.graph.to_scipy()[order][:, order])
    h = outputs(n)
    np.testing.assert_allclose(
        grande_degree(h[order], moved), grande_degree(h, tiny.graph)[order], rtol=1e-12
    )


def test_leading_dimensions_are_separate_problems(connected):
    h = torch.stack([outputs(8, seed=s) * 10**s for s in range(4)]).view(2, 2, 8, 3)
    got = grande_degree(h, connected.graph)
    assert got.shape == (2, 2, 8)
    for a in range(2):
        for b in range(2):
            np.testing.assert_allclose(got[a, b], grande_degree(h[a, b], connected.graph), rtol=1e-12)


def test_an_isolated_node_has_degree_two():
    assert grande_degree(outputs(3), Graph.from_edges([0], [1], 3))[2] == 2


@pytest.mark.parametrize("graph", [PATH, Graph.from_edges([], [], 3)])
def test_equal_outputs_give_penalty_one_and_no_gradient(graph):
    h = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    degree = grande_degree(h, graph)
    np.testing.assert_array_equal(degree.detach(), graph.degree + 1)
    degree.sum().backward()
    np.testing.assert_array_equal(h.grad, 0)


@pytest.mark.parametrize("sigma", [1e-3, 1e-9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tiny_sigma_is_capped_and_stays_finite(dtype, sigma):
    h = torch.tensor([[0.0], [0.1], [1.0]], dtype=dtype, requires_grad=True)
    degree = grande_degree(h, PATH, sigma)
    degree.log().sum().backward()
    assert torch.isfinite(degree).all()
    assert torch.isfinite(h.grad).all()
    assert degree[2].item() == pytest.approx(2 + (1 + 1e12) / 2, rel=1e-4)


# -- the gradient -------------------------------------------------------------------------------------

ANCHORED = Graph.from_edges([0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 4, 5], 6)


def with_anchors(free):
    """Nodes 0 and 1, joined and far apart, hold the largest distance, so that it really is constant."""
    far = torch.tensor([[50.0, 0, 0], [-50.0, 0, 0]], dtype=torch.float64)
    return torch.cat([far, free])


@pytest.mark.parametrize("sigma", [0.02, 0.2, 3.0])
def test_gradcheck(sigma):
    free = (10 * outputs(4)).requires_grad_()
    # The logarithm only brings penalties of very different sizes within reach of finite differences.
    assert torch.autograd.gradcheck(lambda x: grande_degree(with_anchors(x), ANCHORED, sigma).log(), free)


def test_the_largest_distance_is_constant_for_the_gradient():
    # One edge: δ = 2 + (1 + e^(1/σ))/2 whatever h is; yet with max held, ∂δ/∂h = e^(1/σ)·(h − h′)/(σ·max²).
    h = torch.tensor([[0.0], [4.0]], dtype=torch.float64, requires_grad=True)
    grande_degree(h, Graph.from_edges([0], [1], 2), 0.5)[0].backward()
    expected = math.exp(2) * 4 / (0.5 * 16)
    np.testing.assert_allclose(h.grad, [[-expected], [expected]])


def test_detach_keeps_the_value_and_stops_the_gradient(connected):
    h = outputs(8).requires_grad_()
    degree = grande_degree(h, connected.graph, detach=True)
    assert not degree.requires_grad
    np.testing.assert_array_equal(degree, grande_degree(h, connected.graph).detach())


def test_duplicates_get_a_finite_gradient():
    h = outputs(3)[[0, 0, 1, 1, 1, 2]].requires_grad_()
    grande_degree(h, Graph.from_edges([0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5], 6)).sum().backward()
    assert torch.isfinite(h.grad).all()
    assert h.grad.abs().sum() > 0


@pytest.mark.parametrize("sigma", [0, -0.1, math.nan, math.inf, "0.2", None, True])
def test_refuses_a_sigma_that_is_not_positive(connected, sigma):
    with pytest.raises(InvalidInputError, match=r"sigma must be a positive number.*; got"):
        grande_degree(outputs(8), connected.graph, sigma)


# -- degrees as objects -------------------------------------------------------------------------------


def test_objects_equal_their_functions_and_compare_by_value(tiny):
    h = outputs(tiny.graph.n_nodes)
    np.testing.assert_array_equal(Grande(0.3)(h, tiny.graph), grande_degree(h, tiny.graph, 0.3))
    np.testing.assert_array_equal(Centrality()(h, tiny.graph), tiny.graph.degree)
    np.testing.assert_array_equal(Custom(grande_degree)(h, tiny.graph), grande_degree(h, tiny.graph))
    assert len({Grande(0.2), Grande(), Centrality(), Centrality(), Custom(len), Custom(len)}) == 3


def test_what_an_object_says_of_itself():
    assert (Grande(0.3).name, Grande(0.3).sigma, Grande().depends_on_output) == ("grande", 0.3, True)
    assert (Centrality().name, Centrality().sigma, Centrality().depends_on_output) == (
        "centrality",
        None,
        False,
    )
    assert (Custom(math.dist).name, Custom(math.dist).sigma) == ("dist", None)
    assert Custom(partial(grande_degree, sigma=2.0)).name == "custom"
    assert [degree.has_kernel for degree in (Grande(), Centrality(), Custom(len))] == [True, True, False]
    assert type("Hub", (Degree,), {})().name == "hub"
    with pytest.raises(InvalidInputError, match="sigma must be a positive number"):
        Grande(-1.0)


@pytest.mark.parametrize("degree", [Grande(0.05), Centrality()])
def test_a_frozen_degree_gives_every_node_its_degree_from_its_neighbors_alone(tiny, degree):
    h = outputs(tiny.graph.n_nodes)
    whole, frozen = degree(h, tiny.graph), degree.frozen(h, tiny.graph)
    for q in range(tiny.graph.n_nodes):
        around = [q, *np.flatnonzero(tiny.dense[q] * (np.arange(len(h)) != q))]
        star = Graph.from_edges([0] * len(around), range(len(around)), len(around))
        np.testing.assert_allclose(frozen(h[around], star)[0], whole[q], rtol=1e-12)


@pytest.mark.parametrize("longest", [0, 20_000, 39_998])
def test_a_frozen_degree_keeps_the_largest_distance_of_all_edges(longest):
    """Distances are taken from a part of the edges at a time, and any part may hold the largest."""
    n = 40_000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), n)
    steps = torch.ones(n, dtype=torch.float64)
    steps[longest + 1] = 3.0
    h = steps.cumsum(0)[:, None]
    torch.testing.assert_close(Grande(0.2).frozen(h, graph)(h, graph), grande_degree(h, graph, 0.2))


def test_a_frozen_degree_goes_beyond_the_largest_distance():
    frozen = Grande(1.0).frozen(
        torch.tensor([[0.0], [2.0]], dtype=torch.float64), Graph.from_edges([0], [1], 2)
    )
    new = frozen(torch.tensor([[0.0], [6.0]], dtype=torch.float64), Graph.from_edges([0], [1], 2))
    np.testing.assert_allclose(new, 2 + (1 + math.exp(9)) / 2)


def test_a_users_function_cannot_be_frozen(connected):
    assert Custom(grande_degree).frozen(outputs(8), connected.graph) is None


@pytest.mark.parametrize("sigma", [0.01, 0.2, 1.0])
def test_a_degree_can_be_worked_out_from_its_terms(tiny, sigma):
    h = outputs(tiny.graph.n_nodes)
    rho, inverse_kernel = (term.numpy() for term in Grande(sigma).terms(h, tiny.graph))
    starts = tiny.graph.indptr[:-1]
    s = np.add.reduceat(inverse_kernel, starts) / tiny.graph.degree
    np.testing.assert_allclose(grande_degree(h, tiny.graph, sigma), tiny.graph.degree + s)
    np.testing.assert_allclose(inverse_kernel, np.minimum(np.exp(rho**2 / sigma), 1e12))
    assert rho.min() == 0


def test_what_people_call_a_degree():
    assert [degree.title for degree in (Grande(), Centrality(), Custom(math.dist))] == [
        "GRaNDe", "degree centrality", "degree dist"
    ]  # fmt: skip
