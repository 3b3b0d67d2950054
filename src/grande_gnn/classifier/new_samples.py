"""New samples join a fitted graph through their neighbours; everything fitted stays as it is.

A new sample x is joined to those of its k − 1 nearest fitted samples j that would list it — x is nearer to
j than the last of j's own k − 1 neighbours, or j has fewer — and if there is none, to its nearest: as the last
row of the data it would have had just these reciprocal neighbours. Its head output, degree and diffusion follow
the same equations as those of a fitted sample, with the fitted states frozen:

    z⁽ᵗ⁺¹⁾ = (1 − α) d_x (Σ_j d_j Z⁽ᵗ⁾_j + d_x z⁽ᵗ⁾) + α h_x,         d = δ^(−½)

So an answer never depends on which other new samples were asked about. Computed in float64 for the same
reason: float32 products round differently for different batch sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.engine import DegreeSpec
from grande_gnn.graph import Graph
from grande_gnn.graph.exact_search import pair_distances

__all__ = ["FrozenModel", "Joins", "distances_to", "join", "last_listed_distance", "softmax"]

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Joins:
    """The fitted neighbours of each new sample, nearest first, as (new, fitted) pairs."""

    new: NDArray[np.int64]
    fitted: NDArray[np.int64]
    n_new: int

    def sum_over(self, values: Float) -> Float:
        """Σ over each new sample's neighbours of one row (or number) a join."""
        out = np.zeros((self.n_new, *values.shape[1:]))
        np.add.at(out, self.new, values)
        return out


def last_listed_distance(X: NDArray[np.float32], lists: NDArray[np.int32], n_neighbors: int) -> Float:
    """How near each sample's list is closed: the distance of its last entry, or infinity while it has room."""
    if lists.shape[1] < n_neighbors:
        return np.full(len(X), np.inf)
    last = torch.from_numpy(lists[:, n_neighbors - 1].astype(np.int64))
    return pair_distances(torch.from_numpy(X), torch.arange(len(X)), last).numpy()


def distances_to(new: NDArray[np.float32], fitted: NDArray[np.float32], nth: int) -> Float:
    """The distance of each new sample to its nth nearest fitted one; infinity where there are fewer."""
    if len(fitted) < nth:
        return np.full(len(new), np.inf)
    reference = torch.from_numpy(fitted).double()
    block = max(1, 2**24 // len(fitted))
    parts = torch.from_numpy(new).double().split(block)
    found = [torch.cdist(x, reference).kthvalue(nth, dim=1).values for x in parts]
    return torch.cat(found).numpy() if found else np.empty(0)


def join(new: NDArray[np.float32], fitted: NDArray[np.float32], radius: Float, n_neighbors: int) -> Joins:
    """Choose the fitted neighbours of each new sample."""
    k = min(max(1, n_neighbors - 1), len(fitted))
    keep = min(len(fitted), k + 16)
    reference = torch.from_numpy(fitted)
    everyone = torch.arange(len(fitted))
    center = reference.double().mean(0)
    centred = reference.double() - center
    squares = centred.square().sum(1)
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    block = max(1, 2**24 // max(1, len(fitted)))
    for start in range(0, len(new), block):
        x = torch.from_numpy(new[start : start + block])
        moved = x.double() - center
        values, found = torch.addmm(squares, moved, centred.T, alpha=-2).topk(keep, largest=False)
        near, distance = _nearest(x, reference, found, k)
        # Where more than were kept may be tied at the end of the list, only measuring everyone is sure.
        error = 1e-12 * (moved.square().sum(1) + squares.max())
        unsure = (values[:, -1] - values[:, k - 1] <= error) & (keep < len(fitted))
        for row in unsure.nonzero().flatten().tolist():
            near[row], distance[row] = _nearest(x[row : row + 1], reference, everyone[None], k)
        wanted = distance < radius[near]
        wanted[~wanted.any(axis=1), 0] = True
        row_of, column = np.nonzero(wanted)
        rows.append(row_of + start)
        cols.append(near[row_of, column])
    return Joins(np.concatenate(rows), np.concatenate(cols), len(new))


def _nearest(
    x: torch.Tensor, reference: torch.Tensor, candidates: torch.Tensor, k: int
) -> tuple[NDArray[np.int64], Float]:
    """The k nearest of each row's candidates and their distances, by distance and then index."""
    left = torch.arange(len(x)).repeat_interleave(candidates.shape[1])
    distance = pair_distances(x, left, candidates.flatten(), reference).view_as(candidates).numpy()
    order = np.lexsort((candidates.numpy(), distance), axis=1)[:, :k]
    return np.take_along_axis(candidates.numpy(), order, 1), np.take_along_axis(distance, order, 1)


@dataclass(frozen=True, eq=False)
class FrozenModel:
    """A trained replica: parameters, degrees and graph, with the states of its diffusion recomputed."""

    parameters: dict[str, NDArray[np.float32]]
    degree: Float
    spec: DegreeSpec
    graph: Graph
    n_hops: int
    alpha: float
    bias_after: bool  # SGC with degree centrality adds its bias after propagation

    def head(self, X: NDArray[np.float32]) -> Float:
        """H⁽⁰⁾ of the rows of X, without dropout."""
        p = {name: array.astype(np.float64) for name, array in self.parameters.items()}
        x = X.astype(np.float64)
        if "weight1" in p:
            return np.maximum(x @ p["weight1"] + p["bias1"], 0) @ p["weight2"] + p["bias2"]
        return x @ p["weight"] + (0.0 if self.bias_after else p["bias"])

    def logits(self, new: NDArray[np.float32], fitted: NDArray[np.float32], joins: Joins) -> Float:
        """Logits of the new samples."""
        H, h = self.head(fitted), self.head(new)
        scale = 1 / np.sqrt(self.degree)[:, None]
        own = 1 / np.sqrt(self.new_degrees(H, h, joins))[:, None]
        adjacency: sp.csr_matrix = self.graph.to_scipy(np.float64)
        state, z = H, h
        for _ in range(self.n_hops):
            arriving = joins.sum_over((scale * state)[joins.fitted]) + own * z
            z = (1 - self.alpha) * own * arriving + self.alpha * h
            state = (1 - self.alpha) * scale * (adjacency @ (scale * state)) + self.alpha * H
        return np.asarray(z + self.parameters["bias"] if self.bias_after else z, dtype=np.float64)

    def new_degrees(self, H: Float, h: Float, joins: Joins) -> Float:
        """δ of the new samples, with the largest fitted distance as the unit of ρ′."""
        count = np.bincount(joins.new, minlength=joins.n_new).astype(np.float64) + 1
        if isinstance(self.spec, str):
            return count
        if callable(self.spec):
            return _called_degrees(self.spec, H, h, joins, self.graph)
        largest = max(
            np.square(H[self.graph.rows[a : a + 2**16]] - H[self.graph.indices[a : a + 2**16]]).sum(1).max()
            for a in range(0, self.graph.n_edges, 2**16)
        )
        square = np.square(h[joins.new] - H[joins.fitted]).sum(1)
        exponent = square / (largest * self.spec) if largest > 0 else np.zeros_like(square)
        penalties = joins.sum_over(np.exp(np.minimum(exponent, LOG_PENALTY_CAP)))
        return count + (1 + penalties) / count


def _called_degrees(function: Callable, H: Float, h: Float, joins: Joins, graph: Graph) -> Float:
    """A user's degree function sees the fitted graph with one new sample at a time."""
    out = np.empty(joins.n_new)
    for m in range(joins.n_new):
        ends = joins.fitted[joins.new == m]
        rows = np.concatenate([graph.rows, np.full(len(ends), graph.n_nodes)])
        grown = Graph.from_edges(rows, np.concatenate([graph.indices, ends]), graph.n_nodes + 1)
        out[m] = function(torch.from_numpy(np.vstack([H, h[m]])), grown)[-1].item()
    return out


def softmax(logits: Float) -> Float:
    """Probabilities of each row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
