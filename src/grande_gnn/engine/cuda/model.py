"""The diffusion model on CUDA, and the scaling that half precision needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from grande_gnn.engine.cuda.adam import Trained, TritonAdam
from grande_gnn.engine.cuda.head import TritonMLPHead
from grande_gnn.engine.flow import Flow
from grande_gnn.engine.heads import Head
from grande_gnn.engine.labelled import LabelledRows
from grande_gnn.engine.models import Diffusion
from grande_gnn.engine.plan import Replica, Settings

__all__ = ["TritonDiffusion", "loss_scale"]


def loss_scale(replicas: Sequence[Replica], settings: Settings) -> float:
    """A power of two that brings the gradients into the range of float16, whose smallest number is 6e-8.

    At a labelled sample they are at most 1/n_labelled; eight times n_labelled leaves room above and below.
    """
    if settings.precision != "half":
        return 1.0
    return 2.0 ** math.ceil(math.log2(8 * max(int((r.labels >= 0).sum()) for r in replicas)))


class TritonDiffusion(Diffusion):
    """All gradients are ``scale`` times too large, until the optimiser has them."""

    def __init__(self, head: Head, flow: Flow, labelled: LabelledRows, scale: float) -> None:
        super().__init__(head, flow, labelled, capturable=True)
        self.scale = scale

    def backward(self, gradient: Tensor) -> None:
        super().backward(gradient if self.scale == 1 else gradient * self.scale)

    def optimiser(self, settings: Settings) -> TritonAdam:
        trained = (
            self.head.trained()
            if isinstance(self.head, TritonMLPHead)
            else [Trained(parameter) for parameter in self.all_parameters()]
        )
        return TritonAdam([t._replace(scale=t.scale * self.scale) for t in trained], settings)
