"""The degree of every replica, forward and backward, in two kinds.

:class:`KernelDegree` holds any mixture of σ's and degree centrality through the fast kernels;
:class:`FunctionDegree` calls a user's function and lets autograd differentiate it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.replica import DegreeFunction, Replica
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph

__all__ = ["Degree", "FunctionDegree", "KernelDegree", "build_degree", "sigmas_and_uses"]


class Degree:
    """δ of every node, (n, R), from H⁽⁰⁾, (n, R, c), and the gradient it sends back."""

    def forward(self, H: Tensor) -> Tensor:
        raise NotImplementedError

    def backward(self, gradient: Tensor) -> Tensor | None:
        """∂loss/∂H⁽⁰⁾ through the degree; ``None`` where the degree is constant."""
        raise NotImplementedError


def sigmas_and_uses(replicas: Sequence[Replica], device: torch.device) -> tuple[Tensor, Tensor]:
    """σ of each replica and whether it uses one: 1 for GRaNDe, or 0 for degree centrality, whose σ is arbitrary."""
    sigmas = [None if r.degree.sigma is None else float(r.degree.sigma) for r in replicas]
    sigma = torch.tensor([1.0 if value is None else value for value in sigmas], device=device)
    return sigma, torch.tensor([float(value is not None) for value in sigmas], device=device)


class KernelDegree(Degree):
    """|N| + s(σ) for GRaNDe replicas and |N| for degree centrality, in one pass over the edges."""

    def __init__(self, replicas: Sequence[Replica], kernels: TorchKernels, detach: bool) -> None:
        self.kernels, self.detach = kernels, detach
        self.sigma, self.uses = sigmas_and_uses(replicas, kernels.device)
        self.constant = not self.uses.any()

    def forward(self, H: Tensor) -> Tensor:
        if self.constant:
            return self.kernels.count[:, None].expand(-1, H.shape[1])
        s, self._saved = self.kernels.penalty(H, self.sigma)
        return self.kernels.count[:, None] + self.uses * s

    def backward(self, gradient: Tensor) -> Tensor | None:
        if self.constant or self.detach:
            return None
        return self.kernels.penalty_gradient(self._saved, self.uses * gradient)


class FunctionDegree(Degree):
    """A user's differentiable function, called for one replica after the other."""

    def __init__(self, functions: Sequence[DegreeFunction], graph: Graph, detach: bool) -> None:
        self.functions, self.graph, self.detach = functions, graph, detach

    def forward(self, H: Tensor) -> Tensor:
        n = len(H)
        self._inputs = [h.clone(memory_format=torch.contiguous_format).requires_grad_() for h in H.unbind(1)]
        with torch.enable_grad():
            self._outputs = [f(h, self.graph) for f, h in zip(self.functions, self._inputs, strict=True)]
        for degree in self._outputs:
            right = isinstance(degree, Tensor) and degree.shape == (n,)
            if not right or not bool((degree > 0).all()):
                got = (
                    f"smallest value {degree.min().item():g}"
                    if right
                    else f"{type(degree).__name__} {degree}"
                )
                raise InvalidInputError(
                    "a degree function must return one positive number a node, as a tensor of shape "
                    f"({n},); got {' '.join(got.split())[:80]}"
                )
        return torch.stack([degree.detach() for degree in self._outputs], dim=1)

    def backward(self, gradient: Tensor) -> Tensor | None:
        if self.detach or not any(d.requires_grad for d in self._outputs):
            return None
        grads = [
            torch.autograd.grad(d, h, g, allow_unused=True)[0] if d.requires_grad else None
            for d, h, g in zip(self._outputs, self._inputs, gradient.unbind(1), strict=True)
        ]
        return torch.stack(
            [torch.zeros_like(h) if g is None else g for g, h in zip(grads, self._inputs, strict=True)], dim=1
        )


def build_degree(replicas: Sequence[Replica], graph: Graph, kernels: TorchKernels, detach: bool) -> Degree:
    """Degrees with and without a kernel are never mixed in one batch (see ``training.py``)."""
    if replicas[0].degree.has_kernel:
        return KernelDegree(replicas, kernels, detach)
    return FunctionDegree([r.degree for r in replicas], graph, detach)
