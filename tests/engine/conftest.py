"""The same trainings in plain torch with autograd: what the engine's hand-written passes must equal."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from grande_gnn.degree import degree_centrality
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.dropout import MaskStream
from grande_gnn.graph import Graph
from grande_gnn.propagation import appnp, sgc


def mean_distance_degree(h, graph):
    """A user's degree: neighbours counted, and their mean distance."""
    q, i = graph.edges(h.device)
    distance = torch.linalg.vector_norm(h[q] - h[i], dim=-1)
    count = degree_centrality(graph, like=h)
    return count + torch.zeros_like(count).index_add(0, q, distance) / count


@dataclass
class PlainModel:
    """One training as a user would write it: parameters, a forward pass, autograd, ``torch.optim.Adam``."""

    X: torch.Tensor
    graph: Graph
    replica: Replica
    settings: Settings
    parameters: dict[str, torch.Tensor]
    masks: list[MaskStream] = field(default_factory=list)

    @classmethod
    def start(cls, X, graph, replica, n_classes, settings, dtype=torch.float64):
        """Begin at the engine's initial weights, with its stream of dropout masks."""
        (outcome,) = train(X, graph, [replica], n_classes, replace(settings, epochs=0), keep_models=True)
        parameters = {k: torch.tensor(v, dtype=dtype).requires_grad_() for k, v in outcome.parameters.items()}
        widths = [X.shape[1]] + [p.shape[1] for k, p in parameters.items() if k == "weight1"]
        masks = [
            MaskStream((len(X), w), settings.drop, (settings.seed, replica.repetition, i))
            for i, w in enumerate(widths)
        ]
        return cls(torch.tensor(X, dtype=dtype), graph, replica, settings, parameters, masks)

    def head(self, training):
        p, keep = self.parameters, 1 - self.settings.drop

        def drop(x, i):
            return x * self.masks[i].next() / keep if training and keep < 1 else x

        if "weight1" not in p:
            return drop(self.X, 0) @ p["weight"] + p["bias"]
        hidden = (drop(self.X, 0) @ p["weight1"] + p["bias1"]).relu()
        return drop(hidden, 1) @ p["weight2"] + p["bias2"]

    def logits(self, training=False):
        s = self.settings
        if self.replica.precomputes(s):  # Â^K X W + b, as the authors run it
            diffused = sgc(self.X, self.replica.degree(self.X, self.graph), self.graph, n_hops=s.hops)
            return diffused @ self.parameters["weight"] + self.parameters["bias"]
        h = self.head(training)
        degree = self.replica.degree(h, self.graph)
        degree = degree.detach() if s.detach else degree
        return appnp(h, degree, self.graph, n_hops=s.hops, alpha=s.teleport)

    def gradients(self):
        """∂loss/∂parameters of one training step."""
        known = torch.from_numpy(np.flatnonzero(self.replica.labels >= 0))
        target = torch.from_numpy(self.replica.labels)[known]
        loss = cross_entropy(self.logits(training=True)[known], target)
        return dict(
            zip(self.parameters, torch.autograd.grad(loss, list(self.parameters.values())), strict=True)
        )

    def fit(self):
        optimiser = torch.optim.Adam(
            self.parameters.values(), lr=self.settings.lr, weight_decay=self.settings.weight_decay
        )
        for _ in range(self.settings.epochs):
            for p, gradient in self.gradients().items():
                self.parameters[p].grad = gradient
            optimiser.step()
        return self.logits().detach().numpy()


@pytest.fixture(scope="session")
def plain():
    """The plain-torch training."""
    return PlainModel


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
