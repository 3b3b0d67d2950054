"""SGC and APPNP against their dense closed forms."""

import numpy as np
import pytest
import torch

from grande_gnn import grande_degree, grande_norm
from grande_gnn.graph import Graph
from grande_gnn.propagation import appnp, propagate, sgc


def outputs(n, c=3, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, c)))


def normalized(tiny, degree):
    """Â = D^(−½) Ã D^(−½), dense."""
    root = np.diag(np.asarray(degree, dtype=np.float64) ** -0.5)
    return root @ tiny.dense @ root


@pytest.fixture(params=["centrality", "grande"])
def problem(request, tiny):
    """(H, δ, graph, dense Â) of each tiny graph with both degrees."""
    h = outputs(tiny.graph.n_nodes)
    degree = (
        torch.tensor(tiny.dense.sum(1)) if request.param == "centrality" else grande_degree(h, tiny.graph)
    )
    return h, degree, tiny.graph, normalized(tiny, degree)


def test_one_step(problem):
    h, degree, graph, dense = problem
    np.testing.assert_allclose(propagate(h, degree, graph), dense @ h.numpy(), atol=1e-12)


@pytest.mark.parametrize("n_hops", [0, 1, 2, 5])
def test_sgc_is_a_matrix_power(problem, n_hops):
    h, degree, graph, dense = problem
    expected = np.linalg.matrix_power(dense, n_hops) @ h.numpy()
    np.testing.assert_allclose(sgc(h, degree, graph, n_hops=n_hops), expected, atol=1e-12)


@pytest.mark.parametrize(("n_hops", "alpha"), [(0, 0.1), (1, 0.3), (10, 0.1), (4, 1.0), (3, 0.0)])
def test_appnp_is_a_polynomial(problem, n_hops, alpha):
    h, degree, graph, dense = problem
    power = [np.linalg.matrix_power((1 - alpha) * dense, t) for t in range(n_hops + 1)]
    closed = alpha * sum(power[:-1], np.zeros_like(dense)) + power[-1]
    np.testing.assert_allclose(
        appnp(h, degree, graph, n_hops=n_hops, alpha=alpha), closed @ h.numpy(), atol=1e-12
    )


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_appnp_tends_to_personalised_pagerank(problem, alpha):
    h, degree, graph, dense = problem
    pagerank = alpha * np.linalg.inv(np.eye(len(h)) - (1 - alpha) * dense)
    np.testing.assert_allclose(
        appnp(h, degree, graph, n_hops=400, alpha=alpha), pagerank @ h.numpy(), atol=1e-10
    )


def test_defaults_are_the_authors(connected):
    h, degree = outputs(8), torch.tensor(connected.dense.sum(1))
    np.testing.assert_array_equal(
        appnp(h, degree, connected.graph), appnp(h, degree, connected.graph, n_hops=10, alpha=0.1)
    )
    np.testing.assert_array_equal(sgc(h, degree, connected.graph), sgc(h, degree, connected.graph, n_hops=2))


def test_grande_norm_holds_the_entries(tiny):
    h = outputs(tiny.graph.n_nodes)
    q, i = tiny.graph.edges()
    dense = normalized(tiny, grande_degree(h, tiny.graph, 0.3))
    np.testing.assert_allclose(grande_norm(h, tiny.graph, 0.3), dense[q, i], rtol=1e-12)


def test_leading_dimensions_are_separate_problems(connected):
    h = torch.stack([outputs(8, seed=s) for s in range(3)])
    degree = grande_degree(h, connected.graph)
    together = appnp(h, degree, connected.graph)
    assert grande_norm(h, connected.graph).shape == (3, connected.graph.n_edges)
    for one, d, z in zip(h, degree, together, strict=True):
        np.testing.assert_allclose(z, appnp(one, d, connected.graph), rtol=1e-12)


def test_permuting_nodes_permutes_the_answer(tiny):
    n = tiny.graph.n_nodes
    order = np.random.default_rng(1).permutation(n)
    moved = Graph.from_scipy(tiny.graph.to_scipy()[order][:, order])
    h = outputs(n)
    there = appnp(h, grande_degree(h, tiny.graph), tiny.graph)
    back = appnp(h[order], grande_degree(h[order], moved), moved)
    np.testing.assert_allclose(back, there[order], rtol=1e-10)


def test_nothing_crosses_between_components():
    graph = Graph.from_edges([0, 2], [1, 3], 4)
    h = torch.zeros(4, 1, dtype=torch.float64)
    h[0] = 1
    z = appnp(h, torch.tensor(graph.degree), graph)
    assert (z[:2] > 0).all()
    assert (z[2:] == 0).all()


# -- gradients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [propagate, sgc, appnp])
def test_gradcheck_in_outputs_and_degree(connected, function):
    h = outputs(8).requires_grad_()
    degree = (torch.tensor(connected.dense.sum(1)) + 0.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, d: function(x, d, connected.graph), (h, degree))


@pytest.mark.parametrize("through", ["norm", "appnp"])
def test_gradcheck_through_the_degree(through):
    # Two joined anchors far apart keep the largest distance constant, as the definition holds it.
    graph = Graph.from_edges([0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 4, 5], 6)
    far = torch.tensor([[50.0, 0, 0], [-50.0, 0, 0]], dtype=torch.float64)

    def function(free):
        h = torch.cat([far, free])
        return grande_norm(h, graph) if through == "norm" else appnp(h, grande_degree(h, graph), graph)

    assert torch.autograd.gradcheck(function, (10 * outputs(4)).requires_grad_())


def test_detached_norm_has_no_gradient(connected):
    assert not grande_norm(outputs(8).requires_grad_(), connected.graph, detach=True).requires_grad
