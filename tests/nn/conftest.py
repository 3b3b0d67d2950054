import pytest
import torch

N = 25


@pytest.fixture
def edges():
    """A random undirected edge_index without self-loops; node 24 is isolated."""
    from torch_geometric.utils import to_undirected

    pairs = torch.randint(0, N - 1, (2, 40), generator=torch.Generator().manual_seed(1))
    return to_undirected(pairs[:, pairs[0] != pairs[1]], num_nodes=N)


@pytest.fixture
def x():
    """25 nodes with six features."""
    return torch.randn(N, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def graph(edges):
    from grande_gnn.graph import Graph

    return Graph.from_edges(*edges.numpy(), n_nodes=N)


@pytest.fixture
def plain_degree(monkeypatch):
    """Layers count neighbors and ignore distances: what is left must be PyTorch Geometric's layer."""
    monkeypatch.setattr(
        "grande_gnn.nn.norm.grande_degree", lambda h, graph, sigma, detach: graph.degree.to(h)
    )
