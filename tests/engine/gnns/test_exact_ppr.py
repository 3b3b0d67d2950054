"""Personalized PageRank to convergence is the closed form, also in its gradient, and APPNP approaches it."""

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.gnns import exact_ppr
from grande_gnn.engine.gnns.exact_ppr import ExactPPR, solve
from grande_gnn.propagation import appnp

DEGREES = pytest.mark.parametrize("degree", [Centrality(), Grande(0.3)], ids=["centrality", "grande"])


def closed_form(model, X, graph, degree):
    """α (I − (1 − α) Â)⁻¹ H with a dense matrix."""
    H = model.second(model.first(X).relu())
    scale = degree(H, graph).rsqrt()
    q, i = graph.edges("cpu")
    A = torch.zeros(len(X), len(X), dtype=X.dtype).index_put((q, i), scale[q] * scale[i])
    return model.alpha * torch.linalg.solve(torch.eye(len(X), dtype=X.dtype) - (1 - model.alpha) * A, H)


@DEGREES
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_output_and_gradient_are_those_of_the_closed_form(
    small_graph, small_features, degree, alpha, monkeypatch
):
    monkeypatch.setattr(exact_ppr, "TOLERANCE", 1e-12)
    X = small_features.double()
    model = ExactPPR(5, 3, hidden=4, alpha=alpha).double().eval()
    weight = torch.arange(24, dtype=torch.float64).reshape(8, 3).sin()
    found = []
    for Z in (model(X, small_graph, degree), closed_form(model, X, small_graph, degree)):
        model.zero_grad()
        (Z * weight).sum().backward()
        found.append((Z.detach(), [p.grad.clone() for p in model.parameters()]))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-8, atol=1e-10)
    for ours, expected in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-9)


@DEGREES
def test_appnp_approaches_it(small_graph, small_features, degree):
    model = ExactPPR(5, 3, hidden=4, alpha=0.2).eval()
    h = model.second(model.first(small_features).relu())
    delta = degree(h, small_graph)
    far, near = (
        (appnp(h, delta, small_graph, n_hops=k, alpha=0.2) - model(small_features, small_graph, degree))
        .abs()
        .max()
        for k in (2, 60)
    )
    assert near < 1e-3 < far


def test_each_column_is_solved_and_a_column_of_zeros_stays_zero():
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    A = half @ half.T + torch.eye(6)
    right = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    right[:, 1] = 0
    x = solve(lambda z: A @ z, right)
    assert ((A @ x - right).norm(dim=0) <= 1e-4 * right.norm(dim=0)).all()
    assert (x[:, 1] == 0).all()
