"""New samples attach to a fitted graph through their neighbors; everything fitted stays as it is.

A new sample x is attached to those of its k − 1 nearest fitted samples j that would list it: x is nearer to j than the
last of j's own k − 1 neighbors, or j has fewer neighbors than that. These are the reciprocal neighbors that x would have had
as the last row of the data. If there are none, x is attached to its nearest fitted sample. The head's output, the degree
and the diffusion of x follow the same equations as those of a fitted sample, with the fitted states frozen:

    z⁽ᵗ⁺¹⁾ = (1 − α) d_x (Σ_j d_j Z⁽ᵗ⁾_j + d_x z⁽ᵗ⁾) + α h_x,         d = δ^(−½)

So the prediction for a new sample never depends on the other new samples. It is computed in float64 for the same reason:
float32 products round differently for different batch sizes. A model that is not a diffusion has no such states. It is
evaluated on the fitted graph with one new sample added at a time (:mod:`grande_gnn.engine.plain`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.degree import Degree
from grande_gnn.engine import Settings
from grande_gnn.engine.plain import module_logits
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph, Neighbors
from grande_gnn.internal.row_blocks import LARGEST_BLOCK

__all__ = [
    "Attachments",
    "FrozenDiffusion",
    "attach",
    "diffused",
    "grown_graphs",
    "grown_logits",
    "logits_of_new",
]

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attachments:
    """The fitted neighbors of each new sample, nearest first, as (new, fitted) pairs."""

    new: NDArray[np.int64]
    fitted: NDArray[np.int64]
    n_new: int

    def sum_over(self, values: Float) -> Float:
        """For each new sample the sum of the rows (or numbers) of its attachments; ``values`` has one per attachment."""
        out = np.zeros((self.n_new, *values.shape[1:]))
        np.add.at(out, self.new, values)
        return out

    def reached(self, fitted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each new sample attaches to a fitted sample that is marked."""
        return self.sum_over(fitted[self.fitted].astype(np.float64)) > 0


def attach(
    new: NDArray[np.float32],
    neighbors: Neighbors,
    n_neighbors: int,
    found: tuple[NDArray[np.int64], Float] | None = None,
) -> Attachments:
    """Choose the fitted neighbors of each new sample; ``found`` is the result of a query for at least as many."""
    few = max(1, n_neighbors - 1)
    near, distance = neighbors.query(new, few) if found is None else (found[0][:, :few], found[1][:, :few])
    wanted = distance < neighbors.distances(n_neighbors)[near]
    wanted[~wanted.any(axis=1), 0] = True
    row, column = np.nonzero(wanted)
    return Attachments(row, near[row, column], len(new))


def logits_of_new(
    problem: LearningProblem,
    parameters: dict[str, NDArray[np.float32]],
    degrees: Float,
    new: NDArray[np.float32],
    attachments: Attachments,
) -> Float:
    """Logits of new samples from a model trained on ``problem``: ``parameters``, and ``degrees`` of the fitted nodes."""
    if problem.settings.kind.is_diffusion:
        frozen = FrozenDiffusion(parameters, degrees, problem.degree, problem.graph, problem.settings)
        logits = frozen.logits(new, problem.inputs, attachments)
    else:
        logits = grown_logits(problem, parameters, new, attachments)
    if not np.isfinite(logits).all():
        raise InvalidInputError(
            "the numbers of this model are too large or too small to compute with: train it again; got logits that are "
            "not finite"
        )
    return logits


def grown_graphs(graph: Graph, attachments: Attachments) -> Iterator[Graph]:
    """The fitted graph with one new sample as its last node, for each new sample in turn."""
    for m in range(attachments.n_new):
        ends = attachments.fitted[attachments.new == m]
        rows = np.concatenate([graph.rows, np.full(len(ends), graph.n_nodes)])
        yield Graph.from_edges(rows, np.concatenate([graph.indices, ends]), graph.n_nodes + 1)


def grown_logits(
    problem: LearningProblem,
    parameters: dict[str, NDArray[np.float32]],
    new: NDArray[np.float32],
    attachments: Attachments,
) -> Float:
    """Logits of new samples from a model without frozen states: it is evaluated on one grown graph per new sample."""
    logits = np.empty((len(new), problem.n_classes))
    for m, graph in enumerate(grown_graphs(problem.graph, attachments)):
        inputs = np.vstack([problem.inputs, new[m : m + 1]])
        logits[m] = module_logits(
            inputs, graph, problem.degree, parameters, problem.n_classes, problem.settings, problem.hidden
        )[-1]
    return logits


def diffused(
    H: NDArray[np.floating], graph: Graph, degrees: Float, n_hops: int, alpha: float
) -> NDArray[np.floating]:
    """H⁽ᴷ⁾ of the fitted samples from H⁽⁰⁾ = H, with the type of H."""
    scale = (1 / np.sqrt(degrees)).astype(H.dtype)[:, None]
    adjacency: sp.csr_matrix = graph.to_scipy(H.dtype)
    Z = H
    for _ in range(n_hops):
        Z = (1 - alpha) * scale * (adjacency @ (scale * Z)) + alpha * H
    return Z


@dataclass(frozen=True, eq=False)
class FrozenDiffusion:
    """A trained SGC or APPNP: parameters, degrees and graph, with the states of its diffusion recomputed."""

    parameters: dict[str, NDArray[np.float32]]
    degrees: Float
    degree: Degree
    graph: Graph
    settings: Settings

    @property
    def bias_after(self) -> bool:
        """Whether the bias is added after propagation, because the features were diffused before the training."""
        return self.settings.kind.precomputes(self.degree)

    def head(self, X: NDArray[np.float32]) -> Float:
        """H⁽⁰⁾ of the rows of X, without dropout, and without the bias if that is added after propagation."""
        p = {name: array.astype(np.float64) for name, array in self.parameters.items()}
        *hidden_layer, (weight, bias) = [
            (p[name], p[name.replace("weight", "bias")]) for name in sorted(p) if name.startswith("weight")
        ]

        out = np.empty((len(X), weight.shape[1]))
        # Products of few rows are slow, so these blocks are larger than those of row_blocks.
        step = max(1, LARGEST_BLOCK // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            x = X[start : start + step].astype(np.float64)
            for inner_weight, inner_bias in hidden_layer:
                x = np.maximum(x @ inner_weight + inner_bias, 0)
            out[start : start + step] = x @ weight + (0.0 if self.bias_after else bias)
        return out

    def logits(
        self, new: NDArray[np.float32], fitted: NDArray[np.float32], attachments: Attachments
    ) -> Float:
        """Logits of the new samples."""
        H, h = self.head(fitted), self.head(new)
        alpha = self.settings.teleport
        scale = 1 / np.sqrt(self.degrees)[:, None]
        own = 1 / np.sqrt(self.new_degrees(H, h, attachments))[:, None]
        adjacency: sp.csr_matrix = self.graph.to_scipy(np.float64)
        state, z = H, h
        for _ in range(self.settings.hops):
            arriving = attachments.sum_over((scale * state)[attachments.fitted]) + own * z
            z = (1 - alpha) * own * arriving + alpha * h
            state = (1 - alpha) * scale * (adjacency @ (scale * state)) + alpha * H
        return np.asarray(z + self.parameters["bias"] if self.bias_after else z, dtype=np.float64)

    def fitted_logits(self, fitted: NDArray[np.float32]) -> Float:
        """Logits of the fitted samples, as after the training except for rounding."""
        H = self.head(fitted)
        Z = diffused(H, self.graph, self.degrees, self.settings.hops, self.settings.teleport)
        return np.asarray(Z + self.parameters["bias"] if self.bias_after else Z, dtype=np.float64)

    def new_degrees(self, H: Float, h: Float, attachments: Attachments) -> Float:
        """δ of the new samples by the degree's own definition, with the constants of the fitted graph."""
        fitted, new = torch.from_numpy(H), torch.from_numpy(h)
        frozen = self.degree.frozen(fitted, self.graph)
        if frozen is None:
            grown = enumerate(grown_graphs(self.graph, attachments))
            each = [self.degree(torch.cat([fitted, new[m : m + 1]]), graph)[-1] for m, graph in grown]
            return torch.stack(each).detach().numpy()
        # The degree now depends on the new samples and their neighbors only: first the neighbors, then the new samples.
        used, place = np.unique(attachments.fitted, return_inverse=True)
        near = Graph.from_edges(place, len(used) + attachments.new, len(used) + attachments.n_new)
        values = frozen(torch.cat([fitted[torch.from_numpy(used)], new]), near)
        return values[len(used) :].detach().numpy()
