"""Put a model together for a batch of replicas: which head, which degree, which flow, on which device."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from grande_gnn.engine.cpu.degrees import build_degree
from grande_gnn.engine.cpu.diffusion import TorchFlow
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.cpu.models import Diffusion, FixedSGC, Model
from grande_gnn.engine.cpu.transform import LONGEST_RUN, Head, Inputs, LinearHead, MLPHead, runs_of
from grande_gnn.engine.cuda import cuda_model, fused_kernels_serve
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.graph import Graph

__all__ = ["build_model"]


def build_model(
    X: Tensor, graph: Graph, replicas: Sequence[Replica], n_classes: int, settings: Settings
) -> Model:
    """A model for replicas of one kind (see ``train.py``), sorted by repetition."""
    if replicas[0].precomputes(settings):
        return _fixed(X, graph, replicas, n_classes, settings)
    labelled = LabelledRows(replicas, X.device)
    if X.device.type == "cuda" and fused_kernels_serve(replicas[0], settings):
        return cuda_model(X, graph, replicas, n_classes, settings, labelled)
    kernels = TorchKernels(graph, len(replicas), n_classes, X.device)
    degree = build_degree(replicas, graph, kernels, settings.detach)
    return Diffusion(_head(X, replicas, n_classes, settings), TorchFlow(degree, kernels, settings), labelled)


def _head(X: Tensor, replicas: Sequence[Replica], n_classes: int, settings: Settings) -> Head:
    """SGC is linear; APPNP has a hidden layer unless ``hidden=None``."""
    hidden = replicas[0].width(settings)
    if hidden is None:
        runs = runs_of(replicas, settings, len(replicas))
        return LinearHead(Inputs(X, runs, settings), runs, replicas, n_classes, settings)
    runs = runs_of(replicas, settings, LONGEST_RUN)
    return MLPHead(Inputs(X, runs, settings), runs, replicas, n_classes, hidden, settings)


def _fixed(
    X: Tensor, graph: Graph, replicas: Sequence[Replica], n_classes: int, settings: Settings
) -> FixedSGC:
    kernels = TorchKernels(graph, 1, X.shape[1], X.device)
    degree = replicas[0].degree(X, graph)
    scale = degree.rsqrt()[:, None, None]
    diffused = X.unsqueeze(1)
    for k in range(settings.hops):
        scaled = diffused.mul_(scale) if k else diffused * scale  # the features themselves stay as they are
        diffused = kernels.neighbour_sum(scaled).mul_(scale)
        del scaled
    return FixedSGC(diffused[:, 0], degree, replicas, n_classes, settings)
