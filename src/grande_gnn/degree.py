"""Degree centrality and the GRaNDe degree (Duarte, Ponciano & Valem, SBBD 2026).

    δ_GRaNDe(q) = δ_ctr(q) + s(q)                          δ_ctr(q) = |N(q)|, q itself included

    s(q) = 1/|N(q)| · Σ_{i ∈ N(q)} 1 / f(q, i)             f(q, i) = exp(−ρ′(q, i)² / σ)

    ρ(q, i) = ‖h_q − h_i‖₂                                 ρ′ = (ρ − min ρ) / (max ρ − min ρ)

h is the head's output before propagation, so the degree is recomputed in every forward pass and the gradient
flows through it into the weights. Far neighbors → large δ → weak messages.

This file is the definition, in plain torch. The replica engine computes the same degree for many trainings at
once with a hand-written gradient; the tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_sigma

if TYPE_CHECKING:
    from grande_gnn.graph import Graph

__all__ = [
    "LOG_PENALTY_CAP",
    "Centrality",
    "Custom",
    "Degree",
    "Grande",
    "degree_centrality",
    "edge_terms",
    "grande_degree",
]

LOG_PENALTY_CAP = math.log(1e12)
"""The penalty 1/f never exceeds 10¹², as in the authors' code, so no σ > 0 gives infinity."""

_SMALLEST_SIGMA = 1e-30
"""Below this, σ acts like this: every ρ′ but 0 has the largest penalty already, and float32 has no smaller inverse."""


def degree_centrality(graph: Graph, *, like: Tensor | None = None) -> Tensor:
    """|N(q)| of each node, itself included, with the dtype and device of ``like``."""
    like = torch.empty(0) if like is None else like
    return torch.as_tensor(graph.degree, dtype=like.dtype, device=like.device)


def grande_degree(
    h: Tensor, graph: Graph, sigma: float = 0.2, *, detach: bool = False, largest: float | None = None
) -> Tensor:
    """The GRaNDe degree δ of each node, from the head's output ``h`` of shape (..., n, c).

    Parameters
    ----------
    h : the head's output H⁽⁰⁾; leading dimensions are separate problems on the same graph.
    graph : the neighborhoods; every node is its own neighbor, so min ρ = 0.
    sigma : scale of the kernel, > 0. The smaller it is, the more far neighbors are penalized; σ → ∞ gives
        s = 1 and δ = |N| + 1.
    detach : stop the gradient at the degree.
    largest : max ρ of the graph that the head was trained on, if ``graph`` is a part of a larger one.

    Examples
    --------
    >>> from grande_gnn import Graph
    >>> graph = Graph.from_edges([0, 1], [1, 2], n_nodes=3)
    >>> grande_degree(torch.tensor([[0.0], [0.0], [1.0]]), graph, sigma=1.0).tolist()
    [3.0, 4.572760581970215, 3.8591408729553223]
    """
    _check_output(h, graph)
    q, _ = graph.edges(h.device)
    count = degree_centrality(graph, like=h)
    _, inverse_kernel = edge_terms(h, graph, sigma, largest=largest)
    s = torch.zeros(h.shape[:-1], dtype=h.dtype, device=h.device).index_add(-1, q, inverse_kernel) / count
    return count + (s.detach() if detach else s)


def edge_terms(
    h: Tensor, graph: Graph, sigma: float = 0.2, *, largest: float | None = None
) -> tuple[Tensor, Tensor]:
    """ρ′ and 1/f = exp(ρ′²/σ) of every edge, self-loops included, in the order of ``graph.indices``."""
    sigma = max(check_sigma(sigma), _SMALLEST_SIGMA)
    _check_output(h, graph)
    q, i = graph.edges(h.device)
    unit = _unit(h.detach())
    h = h / unit  # exactly h, unless its squares would overflow; ρ′ does not depend on the scale
    rho = torch.linalg.vector_norm(h[..., q, :] - h[..., i, :], dim=-1)  # its gradient at 0 is 0
    low, high = rho.detach().amin(-1, keepdim=True), rho.detach().amax(-1, keepdim=True)
    if largest is not None:
        low, high = torch.zeros_like(low), torch.full_like(high, largest) / unit
    spread = high - low
    rho = torch.where(spread > 0, (rho - low) / spread.where(spread > 0, 1.0), 0.0)
    return rho, (rho.square() / sigma).clamp_max(LOG_PENALTY_CAP).exp()


def _unit(h: Tensor) -> Tensor:
    """1, or where the squares of differences could overflow a number that keeps them small; without a copy from the GPU."""
    largest, limit = h.abs().amax(), torch.finfo(h.dtype).max ** 0.5 / 1e3
    return torch.where(largest > limit, largest / limit, 1.0) if limit > 1e10 else torch.ones_like(largest)


def _check_output(h: Tensor, graph: Graph) -> None:
    """Refuse what is not the output of a head on this graph."""
    if not isinstance(h, Tensor) or not h.is_floating_point():
        got = h.dtype if isinstance(h, Tensor) else type(h).__name__
        raise InvalidInputError(
            f"h must be a torch tensor of real numbers, the output of the head; got {got}"
        )
    if h.ndim < 2 or h.shape[-2] != graph.n_nodes:
        raise InvalidInputError(
            f"h must have one row for each of the {graph.n_nodes} nodes; got shape {tuple(h.shape)}"
        )


class Degree:
    """A degree as an object: call it with the head's output h (n × c) and the graph, and get δ of each node.

    A new degree is a subclass with a ``name`` and a differentiable ``__call__``.
    """

    sigma: float | None = None  # scale of the kernel, if it has one
    has_kernel: bool = (
        False  # True: the engine's fast kernels compute it; False: autograd differentiates the call
    )
    depends_on_output: bool = True  # False: it depends on the graph alone and h is ignored
    is_function: bool = False  # True: a function that was passed in, so that no name leads back to it

    @property
    def name(self) -> str:
        """Its name in rows, reports and saved models."""
        return type(self).__name__.lower()

    @property
    def title(self) -> str:
        """Its name in text for people."""
        return f"degree {self.name}"

    def __call__(self, h: Tensor, graph: Graph) -> Tensor:
        """δ of each node, positive."""
        raise NotImplementedError

    def frozen(self, H: Tensor, graph: Graph) -> Degree | None:
        """The same degree with its constants fixed at the output ``H`` of a whole graph.

        It can then be evaluated on a few new nodes and their neighbors alone. ``None``: the degree of a node may
        depend on any other node, so the whole graph has to be evaluated again with every new node.
        """
        return None


@dataclass(frozen=True)
class Centrality(Degree):
    """|N(q)|, the degree of graph convolutions."""

    name = "centrality"
    has_kernel = True
    depends_on_output = False

    def __call__(self, h: Tensor, graph: Graph) -> Tensor:
        return degree_centrality(graph, like=h)

    def frozen(self, H: Tensor, graph: Graph) -> Degree:
        return self


@dataclass(frozen=True)
class Grande(Degree):
    """The GRaNDe degree with its σ."""

    sigma: float = 0.2

    name = "grande"
    title = "GRaNDe"
    has_kernel = True

    def __post_init__(self) -> None:
        check_sigma(self.sigma)

    def __call__(self, h: Tensor, graph: Graph) -> Tensor:
        return grande_degree(h, graph, self.sigma)

    def terms(self, h: Tensor, graph: Graph) -> tuple[Tensor, Tensor]:
        """ρ′ and 1/f of every edge, from which a degree can be worked out by hand."""
        return edge_terms(h, graph, self.sigma)

    def frozen(self, H: Tensor, graph: Graph) -> Degree:
        """ρ′ keeps the largest distance of this graph as its unit."""
        edges = zip(*(ends.split(2**16) for ends in graph.edges(H.device)), strict=True)  # bounds the memory
        largest = max(torch.linalg.vector_norm(H[q] - H[i], dim=-1).max().item() for q, i in edges)
        return Custom(partial(grande_degree, sigma=self.sigma, largest=largest))


@dataclass(frozen=True)
class Custom(Degree):
    """A user's differentiable function (h, graph) → δ of each node."""

    function: Callable[[Tensor, Graph], Tensor]

    is_function = True

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "custom")

    def __call__(self, h: Tensor, graph: Graph) -> Tensor:
        return self.function(h, graph)
