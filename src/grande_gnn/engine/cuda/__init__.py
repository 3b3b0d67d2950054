"""The engine on CUDA: Triton kernels for the graph and the head, and epochs without launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec

import torch
from torch import Tensor

from grande_gnn.engine.cpu.diffusion import Flow
from grande_gnn.engine.cpu.models import Model
from grande_gnn.engine.cpu.transform import Head, runs_of
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.graph import Graph

__all__ = ["cuda_flow", "cuda_head", "cuda_model", "fused_kernels_serve", "loss_scale"]


def fused_kernels_serve(replica: Replica, settings: Settings) -> bool:
    """Whether the kernels cover replicas like this one; if not, plain torch runs on the device."""
    return find_spec("triton") is not None and settings.hops > 0 and replica.degree.has_kernel


def loss_scale(replica: Replica, settings: Settings) -> float:
    """A power of two that brings the gradients into the range of float16, whose smallest number is 6e-8.

    At a labelled sample they are at most 1/n_labelled; eight times n_labelled leaves room above and below. A batch has
    replicas of one scale.
    """
    if settings.precision != "half":
        return 1.0
    return 2.0 ** math.ceil(math.log2(8 * int((replica.labels >= 0).sum())))


def cuda_model(
    X: Tensor,
    graph: Graph,
    replicas: Sequence[Replica],
    n_classes: int,
    settings: Settings,
    labelled: LabelledRows,
) -> Model:
    """Head, flow and optimiser of a batch."""
    from grande_gnn.engine.cuda.model import TritonDiffusion

    head = cuda_head(X, replicas, n_classes, settings)
    flow = cuda_flow(graph, replicas, n_classes, settings, X.device)
    return TritonDiffusion(head, flow, labelled, loss_scale(replicas[0], settings))


def cuda_head(X: Tensor, replicas: Sequence[Replica], n_classes: int, settings: Settings) -> Head:
    """The head of a batch: linear for SGC or ``hidden=None``, else two layers."""
    from grande_gnn.engine.cuda.transform import CudaInputs, TritonLinearHead, TritonMLPHead

    runs = runs_of(replicas, settings, len(replicas))
    hidden = replicas[0].width(settings)
    if hidden is None:
        return TritonLinearHead(CudaInputs(X, runs, settings), runs, replicas, n_classes, settings)
    inputs = CudaInputs(X, runs, settings, half=settings.precision == "half")
    return TritonMLPHead(inputs, runs, replicas, n_classes, hidden, settings)


def cuda_flow(
    graph: Graph, replicas: Sequence[Replica], n_classes: int, settings: Settings, device: torch.device
) -> Flow:
    """The diffusion of a batch."""
    from grande_gnn.engine.cuda.diffusion import TritonFlow

    return TritonFlow(graph, replicas, n_classes, settings, device)
