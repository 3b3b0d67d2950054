"""From the head's output to logits and back: the degree, then K hops. The reference, in plain torch.

H⁽ᵏ⁾ = (1 − α)ÂH⁽ᵏ⁻¹⁾ + αH⁽⁰⁾ with Â = diag(d) Ã diag(d) and d = δ^(−½). The hops carry U⁽ᵏ⁾ = d ⊙ H⁽ᵏ⁾, so that each of them
scales the rows once, by s = (1 − α)/δ, and not before and after the sum over neighbors:

    U⁽ᵏ⁾ = s ⊙ ÃU⁽ᵏ⁻¹⁾ + αU⁽⁰⁾

With G⁽ᵏ⁾ the gradient that arrives at H⁽ᵏ⁾ along the hops, V⁽ᵏ⁾ = d ⊙ G⁽ᵏ⁾ is carried back: V⁽ᵏ⁻¹⁾ = s ⊙ ÃV⁽ᵏ⁾. Each hop
also sends αG⁽ᵏ⁾ to H⁽⁰⁾. Its part of ∂loss/∂(log d) is the row sum of G⁽ᵏ⁾ ⊙ (H⁽ᵏ⁾ − αH⁽⁰⁾) + G⁽ᵏ⁻¹⁾ ⊙ H⁽ᵏ⁻¹⁾. So all hops
together need only G⁽ᵏ⁾ ⊙ H⁽ᵏ⁾, once for the first and the last hop and twice for those between, minus the sum of the αG⁽ᵏ⁾
times H⁽⁰⁾. As G ⊙ H = δ V ⊙ U and log d = −½ log δ, ∂loss/∂δ is −½ times the same sum with V and U.

The degree of every replica comes in two kinds: :class:`KernelDegree` computes any mixture of σ's and degree centrality
with the fast kernels; :class:`FunctionDegree` calls the degree object and lets autograd differentiate it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grande_gnn.degree import Degree
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.cpu.node_order import NodeOrder, near_order
from grande_gnn.engine.degrees import check_delta
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.graph import Graph

__all__ = ["FunctionDegree", "KernelDegree", "TorchHops", "sigmas_and_uses"]


class TorchHops:
    """Degree and K hops in plain torch, on any device and with any degree; its own arrays are (n, R, c)."""

    def __init__(
        self,
        graph: Graph,
        replicas: Sequence[Replica],
        n_classes: int,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self.K, self.alpha = settings.hops, settings.teleport
        has_kernel = replicas[0].degree.has_kernel  # all or none of a batch have one
        order = near_order(graph, 4 * len(replicas) * n_classes, device) if has_kernel else None
        self.nodes = NodeOrder(order)
        self.kernels = TorchKernels(graph, len(replicas), n_classes, device, order)
        self.degree: KernelDegree | FunctionDegree
        if has_kernel:
            self.degree = KernelDegree(replicas, self.kernels, settings.detach)
        else:
            self.degree = FunctionDegree([r.degree for r in replicas], graph, settings.detach)

    @property
    def delta(self) -> Tensor:
        """The degree of the last forward pass, (R, n)."""
        return self.nodes.restored(self._delta).T

    def forward(self, H: Tensor) -> Tensor:
        """Z = H⁽ᴷ⁾."""
        H = self.nodes.arranged(H.transpose(0, 1))
        self._delta = self.degree.forward(H)
        self._root = self._delta.sqrt().unsqueeze(-1)  # 1/d
        self._step = (1 - self.alpha) / self._delta.unsqueeze(-1)
        self._states = [H / self._root]
        back = self._states[0] * self.alpha if self.alpha else None
        for _ in range(self.K):
            moved = self.kernels.neighbor_sum(self._states[-1])
            if back is None:
                moved.mul_(self._step)
            else:
                torch.addcmul(back, moved, self._step, out=moved)
            self._states.append(moved)
        return self.nodes.restored(self._states[-1] * self._root).transpose(0, 1)

    def backward(self, labelled: LabelledRows, gradient: Tensor) -> Tensor:
        """∂loss/∂H⁽⁰⁾ from the gradient at the labelled rows; consumes the states of the forward pass."""
        states = self._states
        V = torch.zeros_like(states[0])
        rows = self.nodes.places(labelled.row), labelled.replica
        V[rows] = gradient / self._root[rows]
        returned = torch.zeros_like(V) if self.alpha else None  # Σ V⁽ᵏ⁾
        to_degree = torch.zeros_like(self._delta)
        for k in range(self.K, 0, -1):
            if returned is not None:
                returned.add_(V)
            to_degree.add_(states.pop().mul_(V).sum(-1), alpha=1 if k == self.K else 2)
            V = self.kernels.neighbor_sum(V).mul_(self._step)
        to_head = V if returned is None else torch.add(V, returned, alpha=self.alpha)
        if self.K:
            at_start = V if returned is None else torch.sub(V, returned, alpha=self.alpha)
            to_degree += (at_start * states[0]).sum(-1)
        to_head = to_head * self._root
        through_degree = self.degree.backward(to_degree.mul_(-0.5))
        if through_degree is not None:
            to_head += through_degree
        return self.nodes.restored(to_head).transpose(0, 1)


def sigmas_and_uses(replicas: Sequence[Replica], device: torch.device) -> tuple[Tensor, Tensor]:
    """σ of each replica and whether it uses one: 1 for GRaNDe, or 0 for degree centrality, whose σ is arbitrary."""
    sigmas = [None if r.degree.sigma is None else float(r.degree.sigma) for r in replicas]
    sigma = torch.tensor([1.0 if value is None else value for value in sigmas], device=device)
    return sigma, torch.tensor([float(value is not None) for value in sigmas], device=device)


class KernelDegree:
    """|N| + s(σ) for GRaNDe replicas and |N| for degree centrality, in one pass over the edges.

    δ of every node is (n, R), computed from H⁽⁰⁾, which is (n, R, c).
    """

    def __init__(self, replicas: Sequence[Replica], kernels: TorchKernels, detach: bool) -> None:
        self.kernels, self.detach = kernels, detach
        self.sigma, self.uses = sigmas_and_uses(replicas, kernels.device)
        self.constant = not self.uses.any()

    def forward(self, H: Tensor) -> Tensor:
        """δ of every node."""
        if self.constant:
            return self.kernels.count[:, None].expand(-1, H.shape[1])
        s, self._saved = self.kernels.penalty(H, self.sigma)
        return self.kernels.count[:, None] + self.uses * s

    def backward(self, gradient: Tensor) -> Tensor | None:
        """∂loss/∂H⁽⁰⁾ through the degree; ``None`` where the degree is constant."""
        if self.constant or self.detach:
            return None
        return self.kernels.penalty_gradient(self._saved, self.uses * gradient)


class FunctionDegree:
    """Any degree object, called for one replica after the other and differentiated by autograd."""

    def __init__(self, degrees: Sequence[Degree], graph: Graph, detach: bool) -> None:
        self.degrees, self.graph, self.detach = degrees, graph, detach

    def forward(self, H: Tensor) -> Tensor:
        """δ of every node, (n, R)."""
        self._inputs = [h.clone(memory_format=torch.contiguous_format).requires_grad_() for h in H.unbind(1)]
        with torch.enable_grad():
            self._outputs = [
                check_delta(f(h, self.graph), h) for f, h in zip(self.degrees, self._inputs, strict=True)
            ]
        return torch.stack([delta.detach() for delta in self._outputs], dim=1)

    def backward(self, gradient: Tensor) -> Tensor | None:
        """∂loss/∂H⁽⁰⁾ through the degree; ``None`` where the degree is constant."""
        if self.detach or not any(d.requires_grad for d in self._outputs):
            return None
        grads = [
            torch.autograd.grad(d, h, g, allow_unused=True)[0] if d.requires_grad else None
            for d, h, g in zip(self._outputs, self._inputs, gradient.unbind(1), strict=True)
        ]
        return torch.stack(
            [torch.zeros_like(h) if g is None else g for g, h in zip(grads, self._inputs, strict=True)], dim=1
        )
