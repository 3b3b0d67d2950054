"""Symmetric normalization and the two diffusions, as pure functions.

    Â = D^(−½) Ã D^(−½),  D = diag(δ)            à = A + I

    SGC    Z = Â^K H⁽⁰⁾                                           (Wu et al., 2019)
    APPNP  H⁽ᵏ⁾ = (1 − α) Â H⁽ᵏ⁻¹⁾ + α H⁽⁰⁾,  Z = H⁽ᴷ⁾             (Gasteiger et al., 2019)

Since à is binary, ÂH = d ⊙ Ã(d ⊙ H) with d = δ^(−½): one matrix of ones works for every degree.
SGC is APPNP with α = 0, so one loop computes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from grande_gnn.degree import grande_degree

if TYPE_CHECKING:
    from grande_gnn.graph import Graph

__all__ = ["appnp", "grande_norm", "propagate", "sgc"]


def grande_norm(h: Tensor, graph: Graph, sigma: float = 0.2, *, detach: bool = False) -> Tensor:
    """The entries of Â with the GRaNDe degree, one per edge of ``graph.edges()``."""
    scale = grande_degree(h, graph, sigma, detach=detach).rsqrt()
    q, i = graph.edges(h.device)
    return scale[..., q] * scale[..., i]


def propagate(h: Tensor, degree: Tensor, graph: Graph) -> Tensor:
    """One step ÂH for ``h`` of shape (..., n, c) and ``degree`` of shape (..., n)."""
    q, i = graph.edges(h.device)
    scale = degree.rsqrt().unsqueeze(-1)
    return scale * (h.new_zeros(()).expand_as(h).index_add(-2, q, (scale * h)[..., i, :]))


def appnp(h: Tensor, degree: Tensor, graph: Graph, *, n_hops: int = 10, alpha: float = 0.1) -> Tensor:
    """Diffuse ``n_hops`` times; every hop returns to H⁽⁰⁾ with weight α."""
    z = h
    for _ in range(n_hops):
        z = (1 - alpha) * propagate(z, degree, graph) + alpha * h
    return z


def sgc(h: Tensor, degree: Tensor, graph: Graph, *, n_hops: int = 2) -> Tensor:
    """Diffuse ``n_hops`` times without return."""
    return appnp(h, degree, graph, n_hops=n_hops, alpha=0.0)
