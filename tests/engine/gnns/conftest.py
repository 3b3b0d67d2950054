import numpy as np
import pytest
import torch

from grande_gnn.graph import Graph


@pytest.fixture
def small_graph():
    """Two parts and an isolated node."""
    return Graph.from_edges([0, 0, 1, 2, 4, 5, 5], [1, 2, 2, 3, 5, 6, 4], n_nodes=8)


@pytest.fixture
def small_features():
    return torch.from_numpy(np.random.default_rng(3).normal(size=(8, 5)).astype(np.float32))


@pytest.fixture
def pyg_edges(small_graph):
    """The edges with one self-loop per node as PyTorch Geometric takes them, sender first."""
    q, i = small_graph.edges("cpu")
    return torch.stack([i, q])
