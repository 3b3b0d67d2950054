"""The same trainings in plain torch with autograd: what the engine's hand-written passes must equal."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from grande_gnn.degree import degree_centrality
from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.plain import AskedDegree, DiffusionModule
from grande_gnn.graph import Graph


def mean_distance_degree(h, graph):
    """A user's degree: neighbors counted, and their mean distance."""
    q, i = graph.edges(h.device)
    distance = torch.linalg.vector_norm(h[q] - h[i], dim=-1)
    count = degree_centrality(graph, like=h)
    return count + torch.zeros_like(count).index_add(0, q, distance) / count


@dataclass
class Reference:
    """One training as a user would write it: a module in float64, autograd, ``torch.optim.Adam``."""

    module: DiffusionModule
    X: torch.Tensor
    graph: Graph
    replica: Replica
    settings: Settings

    @classmethod
    def start(cls, X, graph, replica, n_classes, settings):
        """Begin at the engine's initial weights, with its stream of dropout masks."""
        module = DiffusionModule(X.shape[1], n_classes, replica=replica, settings=settings).double()
        return cls(module, torch.tensor(X, dtype=torch.float64), graph, replica, settings)

    @property
    def parameters(self):
        return dict(self.module.named_parameters())

    def head(self, training):
        return self.module.train(training).head(self.X)

    def logits(self, training=False):
        degree = AskedDegree(self.replica.degree, self.settings.detach)
        return self.module.train(training)(self.X, self.graph, degree)

    def gradients(self):
        """∂loss/∂parameters of one training step."""
        known = torch.from_numpy(np.flatnonzero(self.replica.labels >= 0))
        target = torch.from_numpy(self.replica.labels)[known]
        each = cross_entropy(self.logits(training=True)[known], target, reduction="none")
        given = self.replica.label_weights
        weights = torch.ones(len(known)) if given is None else torch.from_numpy(given)[known]
        loss = (weights * each).sum() / weights.sum()
        return dict(
            zip(self.parameters, torch.autograd.grad(loss, list(self.parameters.values())), strict=True)
        )

    def fit(self):
        optimizer = torch.optim.Adam(
            self.parameters.values(), lr=self.settings.lr, weight_decay=self.settings.weight_decay
        )
        for _ in range(self.settings.epochs):
            for p, gradient in self.gradients().items():
                self.parameters[p].grad = gradient
            optimizer.step()
        return self.logits().detach().numpy()


@pytest.fixture(scope="session")
def plain():
    """The plain-torch training."""
    return Reference


@pytest.fixture
def built(problem):
    """Builds replicas of one batch for the CPU."""

    def build(replicas, settings):
        backend = Backend(torch.device("cpu"), settings)
        return backend.build(torch.from_numpy(problem.X), problem.graph, replicas, problem.c)

    return build


@pytest.fixture
def assert_gradients_equal(problem, plain, built):
    """Compares the gradient of every parameter of a batch with autograd of the definitions."""

    def check(replicas, settings):
        model = built(replicas, settings)
        model.backward(model.labelled.loss_gradient(model.forward()))
        for p in model.all_parameters():
            p.data = p.grad  # so that of_replica selects gradients as it selects parameters
        for r, replica in enumerate(replicas):
            expected = plain.start(problem.X, problem.graph, replica, problem.c, settings).gradients()
            got = model.of_replica(r)
            assert got.keys() == expected.keys()
            for name, value in expected.items():
                scale = value.abs().max().item()
                np.testing.assert_allclose(
                    got[name] / scale, value / scale, atol=2e-5, err_msg=f"{name} of {r}"
                )

    return check


@pytest.fixture(scope="session")
def custom_degree():
    """A differentiable user function that is neither of the built-in degrees."""
    return mean_distance_degree


@pytest.fixture(scope="session")
def problem():
    """40 samples, 7 features, 3 classes on a graph with an isolated node, a duplicate and two parts."""
    rng = np.random.default_rng(3)
    labels = np.where(np.arange(40) < 18, np.arange(40) % 3, -1)
    X = (rng.normal(size=(40, 7)) + 1.5 * np.eye(3, 7)[np.arange(40) % 3]).astype(np.float32)
    X[11] = X[10]
    left, right = rng.integers(0, 25, size=(2, 70)), rng.integers(25, 39, size=(2, 40))
    edges = np.hstack([left, right, [[10], [11]]])
    graph = Graph.from_edges(edges[0], edges[1], 40)
    return SimpleNamespace(X=X, graph=graph, labels=labels, c=3)
