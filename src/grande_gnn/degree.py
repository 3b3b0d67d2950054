"""Degree centrality and the GRaNDe degree (Duarte, Ponciano & Valem, SBBD 2026).

    δ_GRaNDe(q) = δ_ctr(q) + s(q)                          δ_ctr(q) = |N(q)|, q itself included

    s(q) = 1/|N(q)| · Σ_{i ∈ N(q)} 1 / f(q, i)             f(q, i) = exp(−ρ′(q, i)² / σ)

    ρ(q, i) = ‖h_q − h_i‖₂                                 ρ′ = (ρ − min ρ) / (max ρ − min ρ)

h are the outputs of the head before propagation, so the degree is recomputed in every forward pass and
the gradient flows through it into the weights. Far neighbours → large δ → quiet messages.

This file is the definition, in plain torch. The replica engine computes the same degree for many
trainings at once with a hand-written gradient; the tests hold the two together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grande_gnn.internal.validation import check_sigma

if TYPE_CHECKING:
    from grande_gnn.graph import Graph

__all__ = ["LOG_PENALTY_CAP", "degree_centrality", "grande_degree"]

LOG_PENALTY_CAP = math.log(1e12)
"""The penalty 1/f never exceeds 10¹², as in the authors' code, so no σ > 0 gives infinity."""


def degree_centrality(graph: Graph, *, like: Tensor | None = None) -> Tensor:
    """|N(q)| of each node, itself included, with the dtype and device of ``like``."""
    like = torch.empty(0) if like is None else like
    return torch.as_tensor(graph.degree, dtype=like.dtype, device=like.device)


def grande_degree(h: Tensor, graph: Graph, sigma: float = 0.2, *, detach: bool = False) -> Tensor:
    """The GRaNDe degree δ of each node, from the head's output ``h`` of shape (..., n, c).

    Parameters
    ----------
    h : the head's output H⁽⁰⁾; leading dimensions are separate problems on the same graph.
    graph : the neighbourhoods; every node is its own neighbour, so min ρ = 0.
    sigma : scale of the kernel, > 0. The smaller, the harder far neighbours are punished; σ → ∞ gives
        s = 1 and δ = |N| + 1.
    detach : stop the gradient at the degree.

    Examples
    --------
    >>> from grande_gnn import Graph
    >>> graph = Graph.from_edges([0, 1], [1, 2], n_nodes=3)
    >>> grande_degree(torch.tensor([[0.0], [0.0], [1.0]]), graph, sigma=1.0).tolist()
    [3.0, 4.572760581970215, 3.8591408729553223]
    """
    sigma = check_sigma(sigma)
    q, i = graph.edges(h.device)
    count = degree_centrality(graph, like=h)
    rho = torch.linalg.vector_norm(h[..., q, :] - h[..., i, :], dim=-1)  # its gradient at 0 is 0
    low, high = rho.detach().amin(-1, keepdim=True), rho.detach().amax(-1, keepdim=True)
    spread = high - low
    rho = torch.where(spread > 0, (rho - low) / spread.where(spread > 0, 1.0), 0.0)
    inverse_kernel = (rho.square() / sigma).clamp_max(LOG_PENALTY_CAP).exp()
    s = torch.zeros(h.shape[:-1], dtype=h.dtype, device=h.device).index_add(-1, q, inverse_kernel) / count
    return count + (s.detach() if detach else s)
