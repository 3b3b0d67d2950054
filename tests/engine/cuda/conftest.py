"""Made-up problems for the Triton kernels: on the GPU, or through Triton's interpreter without one."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grande_gnn.engine import Replica
from grande_gnn.graph import Graph

CASES = {  # n, classes, replicas, mean edges per node
    "few": (23, 3, 4, 3),
    "flowers": (31, 17, 5, 4),
    "one class": (9, 1, 2, 2),
    "one replica": (14, 5, 1, 3),
    "many classes": (8, 200, 2, 2),
    "very many classes": (9, 300, 1, 2),
    "many replicas": (4, 2, 500, 1),
}


def random_graph(n, mean, rng):
    """A hub (node 0), an isolated node (the last), the rest at random."""
    rows, cols = rng.integers(0, n - 1, size=(2, mean * n))
    return Graph.from_edges(np.append(rows, np.zeros(n - 1, int)), np.append(cols, np.arange(n - 1)), n)


def some_replicas(n, c, count, rng, hidden=20, degrees=(0.2, "centrality", 0.05, 1.0)):
    """Replicas of several degrees and repetitions, each with a third of the samples labelled."""
    replicas = []
    for r in range(count):
        labels = np.full(n, -1)
        rows = rng.choice(n, max(1, n // 3), replace=False)
        labels[rows] = rng.integers(0, c, len(rows))
        replicas.append(Replica(labels, degrees[r % len(degrees)], r // 3, r, hidden))
    return replicas


def relative_distance(a, b):
    """‖a − b‖/‖a‖."""
    return ((a - b).norm() / a.norm().clamp_min(1e-12)).item()


@pytest.fixture(scope="session")
def device():
    """The GPU if there is one; otherwise the CPU, where Triton's interpreter runs the kernels."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="session")
def make():
    """The functions of this file, and the sizes of the cases."""
    return SimpleNamespace(
        graph=random_graph, replicas=some_replicas, distance=relative_distance, cases=dict(CASES)
    )


@pytest.fixture(params=CASES)
def case(request):
    """Each case in turn: its name and sizes."""
    n, c, R, mean = CASES[request.param]
    return SimpleNamespace(name=request.param, n=n, c=c, R=R, mean=mean)


@pytest.fixture
def tensor(device):
    """Normal random numbers of a shape, always the same for a seed, on the device."""

    def draw(*shape, seed=0):
        values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
        return torch.from_numpy(values).to(device)

    return draw
