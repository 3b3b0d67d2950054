"""Neighbors get near places, and where a row is stored changes no result."""

import numpy as np
import pytest
import torch

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu import node_order
from grande_gnn.engine.cpu.diffusion import TorchHops
from grande_gnn.engine.cpu.node_order import NodeOrder, near_order
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.graph import Graph

CPU = torch.device("cpu")


def shuffled_ring(n=400, seed=0):
    """A ring whose nodes are numbered at random."""
    nodes = np.random.default_rng(seed).permutation(n)
    return Graph.from_edges(nodes, np.roll(nodes, 1), n)


def test_neighbors_get_near_places(monkeypatch):
    monkeypatch.setattr(node_order, "FAR_BYTES", 0)
    graph = shuffled_ring()
    order = near_order(graph, 4, CPU)
    assert sorted(order.tolist()) == list(range(400))
    place = np.argsort(order)
    assert np.abs(place[graph.rows] - place[graph.indices]).max() <= 2


def test_every_node_of_any_graph_has_one_place(tiny, monkeypatch):
    monkeypatch.setattr(node_order, "FAR_BYTES", 0)
    order = near_order(tiny.graph, 4, CPU)
    assert sorted(order.tolist()) == list(range(tiny.graph.n_nodes))


def test_rows_that_fit_the_cache_stay_where_they_are():
    graph = shuffled_ring()
    enough = node_order.FAR_BYTES // 400
    assert near_order(graph, enough - 1, CPU) is None
    assert near_order(graph, enough + 1, CPU) is not None
    assert near_order(graph, enough + 1, torch.device("meta")) is None  # the cache is the CPU's


@pytest.mark.parametrize("order", [None, [2, 0, 3, 1]])
def test_there_and_back(order):
    nodes = NodeOrder(None if order is None else np.array(order))
    rows = torch.arange(12.0).view(4, 3)
    moved = nodes.arranged(rows)
    assert torch.equal(moved, rows if order is None else rows[order])
    assert torch.equal(nodes.restored(moved), rows)
    some = torch.tensor([3, 1])
    assert torch.equal(moved[nodes.places(some)], rows[some])


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degrees", [(0.02, 0.2, "centrality"), ("centrality",)])
def test_the_order_changes_no_bit_of_the_passes(problem, model, degrees, monkeypatch):
    replicas = [Replica(problem.labels, degree) for degree in degrees]
    settings = Settings(model=model, device="cpu")
    labelled = LabelledRows(replicas, CPU)
    H = torch.randn(len(replicas), 40, problem.c, generator=torch.Generator().manual_seed(0))
    results = []
    for far in (2**40, 0):
        monkeypatch.setattr(node_order, "FAR_BYTES", far)
        hops = TorchHops(problem.graph, replicas, problem.c, settings, CPU)
        Z = hops.forward(H).clone()
        gradient = labelled.loss_gradient(labelled.gather(Z))
        results.append((Z, hops.delta.clone(), hops.backward(labelled, gradient).clone()))
    assert hops.nodes.places(torch.arange(40)).tolist() != list(range(40))
    for as_given, ordered in zip(*results, strict=True):
        assert torch.equal(as_given, ordered)


def test_a_degree_function_gets_the_samples_in_their_own_order(problem, monkeypatch):
    monkeypatch.setattr(node_order, "FAR_BYTES", 0)
    seen = []

    def function(h, graph):
        seen.append(h.detach().clone())
        return torch.from_numpy(graph.degree).to(h)

    replicas = [Replica(problem.labels, function)]
    H = torch.randn(1, 40, problem.c)
    TorchHops(problem.graph, replicas, problem.c, Settings(device="cpu"), CPU).forward(H)
    assert torch.equal(seen[0], H[0])
