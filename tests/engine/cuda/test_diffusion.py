"""Degree and hops on CUDA against the torch reference, forward and backward."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.diffusion import TorchHops
from grande_gnn.engine.cuda.diffusion import TritonHops
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.graph import Graph

CPU = torch.device("cpu")


def assert_equal(make, device, graph, replicas, c, settings, scales=(1.0, 1.0)):
    """Compare two passes, the second of which begins with used buffers."""
    rng = np.random.default_rng(1)
    reference = TorchHops(graph, replicas, c, settings, CPU)
    fused = TritonHops(graph, replicas, c, settings, device)
    labelled, labelled_there = LabelledRows(replicas, CPU), LabelledRows(replicas, device)
    for scale in scales:
        H = torch.from_numpy(scale * rng.normal(size=(len(replicas), graph.n_nodes, c)).astype(np.float32))
        gradient = torch.from_numpy(rng.normal(size=(len(labelled.row), c)).astype(np.float32))
        Z, fused_Z = reference.forward(H.clone()).clone(), fused.forward(H.to(device)).cpu()
        assert make.distance(reference.delta, fused.delta.cpu()) < 1e-4
        assert make.distance(Z, fused_Z) < 1e-4
        back = reference.backward(labelled, gradient.clone())
        assert make.distance(back, fused.backward(labelled_there, gradient.to(device)).cpu()) < 1e-4


@pytest.mark.parametrize("model", ["appnp", "sgc"])
def test_the_fused_hops_equal_the_reference(case, model, make, device):
    rng = np.random.default_rng(0)
    graph, replicas = make.graph(case.n, case.mean, rng), make.replicas(case.n, case.c, case.R, rng)
    assert_equal(make, device, graph, replicas, case.c, Settings(model=model, precision="highest"))


def test_a_detached_degree_sends_no_gradient(make, device):
    rng = np.random.default_rng(2)
    graph, replicas = make.graph(23, 3, rng), make.replicas(23, 3, 4, rng)
    settings = Settings(detach=True, n_hops=2, precision="highest")
    assert_equal(make, device, graph, replicas, 3, settings)


def test_the_largest_distance_is_that_of_this_pass(make, device):
    rng = np.random.default_rng(3)
    graph, replicas = make.graph(23, 3, rng), make.replicas(23, 3, 4, rng)
    assert_equal(
        make, device, graph, replicas, 3, Settings(n_hops=2, precision="highest"), scales=(10.0, 1.0)
    )


def test_a_graph_without_edges(make, device):
    graph = Graph.from_edges([], [], 6)
    replicas = [Replica(np.array([0, 1, -1, -1, 0, 1]), degree) for degree in (0.2, "centrality")]
    assert_equal(make, device, graph, replicas, 2, Settings(precision="highest"))


def test_a_tiny_sigma_reaches_the_cap_of_the_penalty(make, device):
    rng = np.random.default_rng(4)
    graph = make.graph(23, 3, rng)
    replicas = make.replicas(23, 3, 3, rng, degrees=(0.001, 0.01, 0.03))
    assert_equal(make, device, graph, replicas, 3, Settings(n_hops=2, precision="highest"))
