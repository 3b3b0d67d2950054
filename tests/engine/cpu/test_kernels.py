"""The fast graph operations equal dense algebra and autograd of the definition."""

import numpy as np
import pytest
import torch

from grande_gnn.degree import grande_degree
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.graph import Graph

CPU = torch.device("cpu")
SIGMAS = torch.tensor([0.02, 0.2, 1.0, 1e4, 0.2])  # the first reaches the cap of the penalty


@pytest.fixture(params=[None, 1, 700, 2000], ids=lambda b: f"chunk={b}")
def kernels_of(request, monkeypatch):
    """Kernels that take all pairs at once, or a few at a time."""
    if request.param:
        monkeypatch.setattr("grande_gnn.engine.cpu.kernels._CHUNK_BYTES", request.param)
    return lambda graph, R=5, c=3: TorchKernels(graph, R, c, CPU)


def outputs(n, R=5, c=3):
    return torch.from_numpy(np.random.default_rng(n).normal(size=(n, R, c)).astype(np.float32))


def test_neighbor_sum_is_a_product_with_the_adjacency(tiny, kernels_of):
    H = outputs(tiny.graph.n_nodes)
    expected = np.einsum("ij,jrc->irc", tiny.dense, H.numpy())
    np.testing.assert_allclose(kernels_of(tiny.graph).neighbor_sum(H), expected, rtol=1e-5, atol=1e-5)


def test_penalty_and_its_gradient_equal_the_definition(tiny, kernels_of):
    n = tiny.graph.n_nodes
    H = outputs(n)
    H[:2, 1] = H[0, 1].clone()  # duplicates in one replica
    H[:, 4] = H[0, 4].clone()  # all equal in another
    weight = outputs(n, c=1)[..., 0]
    kernels = kernels_of(tiny.graph)
    s, saved = kernels.penalty(H, SIGMAS)
    gradient = kernels.penalty_gradient(saved, weight)
    for r, sigma in enumerate(SIGMAS.tolist()):
        h = H[:, r].double().requires_grad_()
        expected = grande_degree(h, tiny.graph, sigma) - torch.from_numpy(tiny.graph.degree)
        np.testing.assert_allclose(s[:, r], expected.detach(), rtol=1e-4)
        (slope,) = torch.autograd.grad(expected, h, weight[:, r].double())
        scale = max(1.0, slope.abs().max().item())
        np.testing.assert_allclose(gradient[:, r] / scale, slope / scale, atol=1e-5)


def test_another_order_of_the_nodes_gives_the_same_rows_elsewhere(problem, kernels_of):
    order = np.random.default_rng(0).permutation(40)
    H, weight = outputs(40), outputs(40, c=1)[..., 0]
    as_given, moved = kernels_of(problem.graph), TorchKernels(problem.graph, 5, 3, CPU, order)
    assert torch.equal(moved.neighbor_sum(H[order]), as_given.neighbor_sum(H)[order])
    s, saved = as_given.penalty(H, SIGMAS)
    moved_s, moved_saved = moved.penalty(H[order], SIGMAS)
    assert torch.equal(moved_s, s[order])
    gradient = as_given.penalty_gradient(saved, weight)
    assert torch.equal(moved.penalty_gradient(moved_saved, weight[order]), gradient[order])
    near = moved.pairs.min(1).values
    assert torch.equal(near, near.sort().values)  # pairs are read in the order of the rows


def test_penalty_on_a_larger_graph(problem, kernels_of):
    H = outputs(40)
    kernels = kernels_of(problem.graph)
    s, _ = kernels.penalty(H, SIGMAS)
    for r, sigma in enumerate(SIGMAS.tolist()):
        expected = grande_degree(H[:, r].double(), problem.graph, sigma).numpy() - problem.graph.degree
        np.testing.assert_allclose(s[:, r], expected, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e-21, 1e-18, 1e-10, 1e15])
def test_the_scale_of_the_outputs_never_gives_nan(scale):
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], 4)
    H = outputs(4, R=2) * scale
    H[1] = H[0]  # a distance of exactly 0
    kernels = TorchKernels(graph, 2, 3, CPU)
    s, saved = kernels.penalty(H, torch.tensor([1e-3, 0.2]))
    assert torch.isfinite(s).all()
    assert (s >= 1).all()
    assert torch.isfinite(kernels.penalty_gradient(saved, torch.ones(4, 2))).all()


def test_penalty_at_a_tiny_sigma_is_capped(connected):
    s, saved = TorchKernels(connected.graph, 1, 3, CPU).penalty(outputs(8, R=1), torch.tensor([1e-3]))
    assert s.max() == pytest.approx(1e12 / connected.graph.degree.min(), rel=1)
    assert torch.isfinite(s).all()
    assert torch.isfinite(saved[0]).all()


def test_indices_can_count_the_entries_of_all_replicas(connected):
    """The matrix of all replicas has R times the entries of the graph, and its row pointers count them."""
    many = 2**31 // connected.graph.n_edges + 1
    for replicas in (1, many - 1, many):
        kernels = TorchKernels(connected.graph, replicas, 3, CPU)
        for index in (kernels.pointers, kernels.columns, kernels.pair_of_entry, kernels.pairs):
            assert torch.iinfo(index.dtype).max >= replicas * connected.graph.n_edges
    assert (
        TorchKernels(connected.graph, 1, 3, CPU).columns.dtype == torch.int32
    )  # half the memory where it suffices


@pytest.mark.parametrize("gathered_bytes", [1, 400, 2**28])
def test_gathering_gives_the_gradient_of_the_matrix_product(tiny, gathered_bytes, monkeypatch):
    """CUDA gathers and scatters where the CPU multiplies by a sparse matrix; here the CPU does both."""
    monkeypatch.setattr("grande_gnn.engine.cpu.kernels.GATHERED_BYTES", gathered_bytes)
    H, kernels = outputs(tiny.graph.n_nodes), TorchKernels(tiny.graph, 5, 3, CPU)
    weight = outputs(tiny.graph.n_nodes, c=1)[..., 0]
    expected = kernels.penalty_gradient(kernels.penalty(H, SIGMAS)[1], weight)
    monkeypatch.setattr(
        kernels, "_weighted_sum", lambda w, H: kernels._gathered_sum(w[kernels.pair_of_entry], H)
    )
    found = kernels.penalty_gradient(kernels.penalty(H, SIGMAS)[1], weight)
    torch.testing.assert_close(found, expected)
