"""Any network, trained by autograd: the readable statement of what the engine computes, and the way to add new GNNs.

A new GNN is an ``nn.Module`` whose ``forward(X, graph, degree)`` returns logits, n × classes: X are the features (n × d),
``graph`` has the edges, and ``degree(h, graph)`` is the degree δ of each node for any h with n rows. A graph convolution:

    >>> from torch import nn
    >>> from grande_gnn.propagation import propagate
    >>> class GCN(nn.Module):
    ...     def __init__(self, n_features, n_classes, hidden=16, dropout=0.5):
    ...         super().__init__()
    ...         self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
    ...         self.dropout = nn.Dropout(dropout)
    ...
    ...     def forward(self, X, graph, degree):
    ...         h = propagate(self.first(X), degree(X, graph), graph).relu()
    ...         return propagate(self.second(self.dropout(h)), degree(h, graph), graph)

It is trained by the same loop as the built-in models, with the same replicas, settings and outcomes:

    >>> from grande_gnn.engine import Replica, Settings, train
    >>> X, y = np.eye(3).repeat(4, axis=0), np.arange(3).repeat(4)
    >>> graph = Graph.from_edges(np.arange(12), np.arange(12) // 4 * 4, n_nodes=12)
    >>> labels = np.where(np.arange(12) % 4 == 0, y, -1)
    >>> outcome, = train(X, graph, [Replica(labels, "grande")], 3, Settings(model=GCN, epochs=40, lr=0.01))
    >>> bool((outcome.predictions == y).all())
    True

``GrandeClassifier(model=GCN)`` uses it like a built-in one, and ``register_model(PlainModel("gcn", GCN))`` gives it a name.

How a module is built for one training: a class or function is called with (n_features, n_classes), and by keyword with
those of ``hidden``, ``n_hops``, ``alpha``, ``dropout``, ``replica`` and ``settings`` that it has as parameters; a module is
copied, and every part that has ``reset_parameters`` is reset. Initial weights depend on (seed, repetition, fold), dropout
on (seed, repetition, epoch): torch's global generators are seeded temporarily and then restored. A module may name
parameters that take no weight decay in an attribute ``undecayed``.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from grande_gnn.degree import Degree, degree_centrality
from grande_gnn.engine.cpu.adam import Adam
from grande_gnn.engine.degrees import check_delta
from grande_gnn.engine.dropout import MaskStream
from grande_gnn.engine.initial import initial_weights
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.models import Model, PlainModel, as_model
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.engine.sparse_input import is_sparse, with_values
from grande_gnn.engine.trainable import Optimizer
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import check_features
from grande_gnn.propagation import appnp, sgc

__all__ = [
    "AskedDegree",
    "DiffusionModule",
    "PlainTraining",
    "build_module",
    "by_autograd",
    "module_logits",
    "module_shapes",
]


class DiffusionModule(nn.Module):
    """SGC and APPNP as the paper states them; the engine's fast passes compute the same, which the tests check.

    The initial weights and the dropout masks are the engine's. To train it by autograd:
    ``Settings(model=functools.partial(DiffusionModule, model="appnp"))``.
    """

    weight: Tensor  # of a model with one layer
    bias: Tensor
    weight1: Tensor  # of a model with a hidden layer
    bias1: Tensor
    weight2: Tensor
    bias2: Tensor

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        replica: Replica,
        settings: Settings,
        model: str | Model | None = None,
    ) -> None:
        super().__init__()
        kind = self.kind = as_model(settings.model if model is None else model)
        self.n_hops, self.alpha = kind.hops(settings.n_hops), kind.teleport(settings.alpha)
        self.dropout, self.key = kind.drop(settings.dropout), (settings.seed, replica.repetition)
        self.masks: dict[int, MaskStream] = {}
        shapes = kind.parameter_shapes(n_features, replica.hidden, n_classes).items()
        layers = [(name.removeprefix("weight"), s[0], s[1]) for name, s in shapes if "weight" in name]
        for name, array in initial_weights([replica], layers, settings)[0].items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        """Z = Â^K X W + b if the degree ignores the output of SGC, otherwise K hops from H⁽⁰⁾."""
        if self.kind.precomputes(degree):
            if is_sparse(X):  # the same by linearity, and never dense
                h = X @ self.weight
                return sgc(h, degree(h, graph), graph, n_hops=self.n_hops) + self.bias
            return sgc(X, degree(X, graph), graph, n_hops=self.n_hops) @ self.weight + self.bias
        h = self.head(X)
        return appnp(h, degree(h, graph), graph, n_hops=self.n_hops, alpha=self.alpha)

    def head(self, X: Tensor) -> Tensor:
        """H⁽⁰⁾ = dropout(X) W + b, or with a hidden layer dropout(ReLU(dropout(X) W₁ + b₁)) W₂ + b₂."""
        if hasattr(self, "weight"):
            return self._dropped(X, 0) @ self.weight + self.bias
        hidden = (self._dropped(X, 0) @ self.weight1 + self.bias1).relu()
        return self._dropped(hidden, 1) @ self.weight2 + self.bias2

    def _dropped(self, x: Tensor, layer: int) -> Tensor:
        """Dropout with the next mask of this layer."""
        if not (self.training and self.dropout):
            return x
        shape = (x.values().numel(), 1) if is_sparse(x) else (x.shape[0], x.shape[1])
        if layer not in self.masks:
            self.masks[layer] = MaskStream(shape, self.dropout, (*self.key, layer))
        if is_sparse(x):
            mask = self.masks[layer].next().to(x.values()).flatten()
            return with_values(x, x.values() * mask / (1 - self.dropout))
        return x * self.masks[layer].next().to(x) / (1 - self.dropout)


def by_autograd(settings: Settings) -> Settings:
    """The settings with a model that is trained by autograd: a diffusion model becomes a :class:`DiffusionModule`."""
    kind = settings.kind
    if not kind.is_diffusion:
        return settings
    return replace(settings, model=PlainModel(kind.name, partial(DiffusionModule, model=kind), kind.title))


class PlainTraining:
    """One training of a module by autograd, as the training loop needs it (:class:`~.trainable.Trainable`)."""

    capturable = False  # a module may do what a CUDA graph cannot record

    def __init__(self, X: Tensor, graph: Graph, replica: Replica, n_classes: int, settings: Settings) -> None:
        self.X, self.graph, self.replica, self.n_classes, self.settings = (
            X,
            graph,
            replica,
            n_classes,
            settings,
        )
        self.degree = AskedDegree(replica.degree, settings.detach)
        self.module = build_module(X.shape[1], n_classes, replica, settings).to(X.device)
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        if not self.parameters:
            raise InvalidInputError(
                "a model needs at least one parameter to train: register layers and nn.Parameters in its __init__; "
                f"got {type(self.module).__name__} without any"
            )
        self.labelled = LabelledRows([replica], X.device)
        self.epoch = 0

    def optimizer(self, settings: Settings) -> Optimizer:
        """Adam over all parameters; those the module calls ``undecayed`` have no weight decay."""
        names = set(getattr(self.module, "undecayed", ()))
        without = [p for name, p in self.module.named_parameters() if name in names and p.requires_grad]
        chosen = {id(p) for p in without}
        rest = [p for p in self.parameters if id(p) not in chosen]
        groups = [(rest, settings), (without, replace(settings, weight_decay=0.0))]
        return _Together([Adam(parameters, with_decay) for parameters, with_decay in groups if parameters])

    def forward(self) -> Tensor:
        """Logits of the labelled rows in training mode."""
        self.epoch += 1
        self.module.train()
        self.module.zero_grad()
        with torch.enable_grad():
            self._rows = self.labelled.gather(self._logits().unsqueeze(0))
        return self._rows.detach()

    def backward(self, gradient: Tensor) -> None:
        """Backpropagate by autograd; parameters that were not used get a gradient of 0."""
        self._rows.backward(gradient)
        del self._rows
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)

    def evaluate(self) -> tuple[Tensor, None, Tensor]:
        """Logits in evaluation mode, and the last degree that the module computed, or degree centrality."""
        self.module.eval()
        logits = self._logits()
        last = self.degree.last
        degree = degree_centrality(self.graph, like=self.X) if last is None else last
        return logits.unsqueeze(0), None, degree.unsqueeze(0)

    def of_replica(self, r: int) -> dict[str, NDArray[Any]]:
        """The module's ``state_dict`` as arrays; ``load_state_dict`` and :func:`module_logits` take them back."""
        return {name: value.cpu().numpy().copy() for name, value in self.module.state_dict().items()}

    def _logits(self) -> Tensor:
        with _random_numbers(self.settings.seed, self.replica.repetition, self.epoch, 1):
            return _checked(self.module(self.X, self.graph, self.degree), self.X.shape[0], self.n_classes)


class _Together:
    """Several optimizers as one."""

    def __init__(self, parts: Sequence[Optimizer]) -> None:
        self.parts = parts

    def step(self) -> None:
        for part in self.parts:
            part.step()


class AskedDegree(Degree):
    """A degree that remembers its last result, for the outcome, and stops the gradient if it is detached."""

    def __init__(self, degree: Degree, detach: bool) -> None:
        self.degree, self.detach = degree, detach
        self.sigma, self.depends_on_output = degree.sigma, degree.depends_on_output
        self.last: Tensor | None = None

    @property
    def name(self) -> str:
        """The name of the degree itself."""
        return self.degree.name

    def __call__(self, h: Tensor, graph: Graph) -> Tensor:
        delta = check_delta(self.degree(h, graph), h, values=self.last is None)
        self.last = delta.detach()
        return self.last if self.detach else delta


def build_module(n_features: int, n_classes: int, replica: Replica, settings: Settings) -> nn.Module:
    """A new module for one training, with initial weights from (seed, repetition, fold); see above how it is built."""
    kind = settings.kind
    if not isinstance(kind, PlainModel):
        raise InvalidInputError(f"only a PlainModel is trained by autograd; got {kind.name!r}")
    with _random_numbers(settings.seed, replica.repetition, replica.fold):
        if isinstance(kind.build, nn.Module):
            module = copy.deepcopy(kind.build)
            for part in module.modules():
                if callable(reset := getattr(part, "reset_parameters", None)):
                    reset()
            return module
        offered: dict[str, Any] = {
            "hidden": replica.hidden, "n_hops": settings.n_hops, "alpha": settings.alpha,
            "dropout": settings.dropout, "replica": replica, "settings": settings,
        }  # fmt: skip
        taken = _parameters_of(kind) - getattr(kind.build, "keywords", {}).keys()
        options = {name: value for name, value in offered.items() if name in taken and value is not None}
        module = kind.build(n_features, n_classes, **options)
    if not isinstance(module, nn.Module):
        raise InvalidInputError(
            f"model {kind.name!r} must be a torch.nn.Module, its class, or a function that returns one; "
            f"got a function that returned {type(module).__name__}"
        )
    return module


def _parameters_of(kind: PlainModel) -> set[str]:
    """The names of what a model is built from."""
    try:
        return set(inspect.signature(kind.build).parameters)
    except (TypeError, ValueError) as error:  # a built-in such as int
        raise InvalidInputError(
            f"model {kind.name!r} must be a torch.nn.Module, its class, or a function that returns one; got {error}"
        ) from None


def module_shapes(
    model: PlainModel, n_features: int, hidden: int | None, n_classes: int
) -> dict[str, tuple[int, ...]]:
    """Name and shape of everything in the ``state_dict`` of a new module."""
    replica = Replica(np.empty(0, dtype=np.int64), hidden=hidden)
    module = build_module(n_features, n_classes, replica, Settings(model=model))
    return {name: tuple(value.shape) for name, value in module.state_dict().items()}


def module_logits(
    features: ArrayLike,
    graph: Graph,
    degree: Degree,
    parameters: Mapping[str, NDArray[Any]],
    n_classes: int,
    settings: Settings,
    hidden: int | None = 256,
) -> NDArray[np.float32]:
    """Logits of a trained module on any graph, for example on the fitted one with a new sample attached to it.

    ``parameters`` are those of an :class:`~grande_gnn.engine.Outcome`; the other arguments are those of the training.
    """
    device = resolve_device(settings.device)
    X = torch.from_numpy(check_features(features)).to(device)
    replica = Replica(np.empty(0, dtype=np.int64), degree, hidden=hidden)
    module = build_module(X.shape[1], n_classes, replica, settings)
    state = {name: torch.from_numpy(np.array(array)) for name, array in parameters.items()}
    try:
        module.load_state_dict(state)
    except RuntimeError as error:  # torch lists every name and shape that does not fit
        raise InvalidInputError(
            f"the parameters do not fit the model {settings.kind.name!r}; got {' '.join(str(error).split())}"
        ) from None
    module.to(device).eval()
    with torch.no_grad(), _random_numbers(settings.seed):
        return _checked(module(X, graph, degree), len(X), n_classes).cpu().numpy()


def _checked(logits: Any, n: int, n_classes: int) -> Tensor:
    if not isinstance(logits, Tensor) or logits.shape != (n, n_classes):
        got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise InvalidInputError(
            f"forward(X, graph, degree) of a model must return logits of shape ({n}, {n_classes}); got {got}"
        )
    return logits


@contextmanager
def _random_numbers(*key: int) -> Iterator[None]:
    """Seed torch's global generators by the key inside the block; afterwards they are as before."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0]) >> 1
    on_cuda = torch.cuda.is_initialized()
    with torch.random.fork_rng([torch.cuda.current_device()] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            torch.cuda.manual_seed(seed)
        yield
