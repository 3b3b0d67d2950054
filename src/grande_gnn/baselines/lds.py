"""GNN-LDS: the graph itself is learned, as one Bernoulli probability per pair, by bilevel optimization.

    outer:  θ ← clip(θ − η ∂L_outer(w_T(θ)) / ∂θ, 0, 1)        θ⁰ = the k-nearest-neighbor graph, 0 or 1
    inner:  w_{t+1} = Adam(w_t, ∇ L_train(w_t, A_t)),  A_t ~ Bernoulli(θ),
            logits = Â dropout(ReLU(Â X W₀)) W₁

The labelled samples are split into three parts: one trains the weights, one gives the outer loss, and one decides
when to stop. Every τ inner steps, the outer loss is differentiated through those τ steps and, with a straight-through
estimator, through the drawn edges to θ. Predictions are the mean of the logits over several sampled graphs.

Franceschi, Niepert, Pontil, He: Learning discrete structures for graph neural networks, ICML 2019.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.graph import Graph, knn_edges, ranked_lists
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import UNLABELLED, check_choice

__all__ = ["LDS", "AllPairs", "DifferentiableAdam", "NearPairs", "Search", "Split", "split_labelled"]

log = logging.getLogger(__name__)

Propagate = Callable[[Tensor], Tensor]
Weights = tuple[Tensor, ...]


class _StraightThrough(torch.autograd.Function):
    """The symmetric adjacency of the edges drawn from the upper triangle θ; the gradient passes to θ unchanged."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, drawn: Tensor) -> Tensor:
        return drawn + drawn.T

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return (gradients[0] + gradients[0].T).triu(1), None


class AllPairs:
    """θ for every pair, as the upper triangle of a dense matrix: n² numbers per sampled graph."""

    def __init__(self, graph: Graph, device: torch.device):
        self.theta = torch.from_numpy(graph.to_scipy(np.float32).toarray()).to(device).triu_(1)

    def sample(self, theta: Tensor, generator: torch.Generator) -> Propagate:
        """Draw a graph and return H ↦ ÂH; its gradient with respect to θ is that of the drawn edges."""
        drawn = torch.bernoulli(theta.detach(), generator=generator)
        adjacency: Tensor = _StraightThrough.apply(theta, drawn)
        scale = (adjacency.sum(1, keepdim=True) + 1).rsqrt()  # + 1: the self-loop
        return lambda H: scale * (adjacency @ (scale * H) + scale * H)


class NearPairs:
    """θ only for pairs at most two steps apart in the first graph: an approximation for many samples."""

    def __init__(self, graph: Graph, device: torch.device):
        first = graph.to_scipy(np.float32)
        near = (first @ first).tocoo()
        upper = near.row < near.col
        rows, cols = near.row[upper], near.col[upper]
        self.rows = torch.from_numpy(rows).long().to(device)
        self.cols = torch.from_numpy(cols).long().to(device)
        self.theta = torch.from_numpy(np.asarray(first[rows, cols]).ravel()).to(device)
        self.n = graph.n_nodes

    def sample(self, theta: Tensor, generator: torch.Generator) -> Propagate:
        """Draw a graph and return H ↦ ÂH; its gradient with respect to θ is that of the drawn edges."""
        drawn = torch.bernoulli(theta.detach(), generator=generator)
        edges = (drawn + theta - theta.detach())[:, None]

        def adjacent_sum(H: Tensor) -> Tensor:
            out = torch.zeros_like(H).index_add(0, self.rows, edges * H[self.cols])
            return out.index_add(0, self.cols, edges * H[self.rows])

        scale = (adjacent_sum(edges.new_ones(self.n, 1)) + 1).rsqrt()
        return lambda H: scale * (adjacent_sum(scale * H) + scale * H)


MOST_FOR_ALL_PAIRS = {"cpu": 2_000, "cuda": 8_000}
"""Samples up to which ``candidates="auto"`` lets every pair become an edge."""
CANDIDATES: dict[str, type[AllPairs] | type[NearPairs]] = {"all": AllPairs, "two-hop": NearPairs}


class Split(NamedTuple):
    """The rows of the labelled samples that train the weights, give the outer loss, and decide when to stop."""

    train: NDArray[np.int64]
    outer: NDArray[np.int64]
    stop: NDArray[np.int64]


def split_labelled(codes: NDArray[np.int64], pattern: str, rng: np.random.Generator) -> Split:
    """Distribute the shuffled labelled samples of each class over the three parts, so that each class is trained on.

    ``pattern`` is the order in which samples are dealt out (t: train, o: outer, s: stop): ``"tots"`` gives half to
    training and a quarter to each other part, ``"tos"`` a third to each. A part that stays empty, because no class has
    enough labels, uses the samples of the part before it.
    """
    parts: dict[str, list[int]] = {"t": [], "o": [], "s": []}
    for code in np.unique(codes[codes != UNLABELLED]):
        for position, row in enumerate(rng.permutation(np.flatnonzero(codes == code))):
            parts[pattern[position % len(pattern)]].append(int(row))
    parts["o"] = parts["o"] or parts["t"]
    parts["s"] = parts["s"] or parts["o"]
    return Split(*(np.array(sorted(parts[key])) for key in "tos"))


class DifferentiableAdam:
    """Adam whose steps can be differentiated; :meth:`cut` detaches its state from earlier steps."""

    def __init__(self, weights: Weights, lr: float):
        self.lr, self.t = lr, 0
        self.mean = tuple(torch.zeros_like(w) for w in weights)
        self.square = tuple(torch.zeros_like(w) for w in weights)

    def step(self, weights: Weights, gradients: Weights) -> Weights:
        """The weights after one step."""
        self.t += 1
        self.mean = tuple(0.9 * m + 0.1 * g for m, g in zip(self.mean, gradients, strict=True))
        self.square = tuple(0.999 * v + 0.001 * g * g for v, g in zip(self.square, gradients, strict=True))
        first, second = 1 - 0.9**self.t, 1 - 0.999**self.t
        # 1e-16 under the root instead of 1e-8 outside, because the gradient of the root at 0 is infinite.
        return tuple(
            w - self.lr * (m / first) / (v / second + 1e-16).sqrt()
            for w, m, v in zip(weights, self.mean, self.square, strict=True)
        )

    def cut(self) -> None:
        """Detach the current state from the steps that led to it."""
        self.mean = tuple(m.detach() for m in self.mean)
        self.square = tuple(v.detach() for v in self.square)


class LDS(System):
    """A two-layer GCN on a learned graph.

    Parameters
    ----------
    n_neighbors, metric : the initial graph connects nearest neighbors by ``"euclidean"`` or ``"cosine"`` distance.
    candidates : the pairs that may become edges: ``"all"``, as published, or only those at most two edges apart in the
    initial
        graph (``"two-hop"``), which takes less memory; ``"auto"`` takes all up to 2,000 samples, on a GPU up to 8,000.
    tau, eta : inner steps that a hypergradient backpropagates through, and the outer learning rate, which decays as
        1 / (1 + t/1000).
    inner_steps, rounds, patience : the maximum number of steps of an inner training; the maximum number of inner
    trainings; and
        how many of these in a row may bring no better stopping accuracy.
    pattern : how labelled samples are split, see :func:`split_labelled`.
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        candidates: str = "auto",
        hidden: int = 16,
        dropout: float = 0.5,
        weight_decay: float = 5e-4,
        lr: float = 0.02,
        tau: int = 5,
        eta: float = 1.0,
        inner_steps: int = 400,
        rounds: int = 100,
        patience: int = 20,
        n_graphs: int = 16,
        pattern: str = "tots",
        device: str = "auto",
        random_state: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.candidates = candidates
        self.hidden = hidden
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.lr = lr
        self.tau = tau
        self.eta = eta
        self.inner_steps = inner_steps
        self.rounds = rounds
        self.patience = patience
        self.n_graphs = n_graphs
        self.pattern = pattern
        self.device = device
        self.random_state = random_state

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        return self._transduce_folds(X, codes[None])[0]

    def _transduce_folds(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> list[Transduction]:
        graph = self._first_graph(X)
        device = resolve_device(self.device)
        chosen = check_choice(self.candidates, ("auto", *CANDIDATES), name="candidates")
        if chosen == "auto":
            chosen = "all" if len(X) <= MOST_FOR_ALL_PAIRS.get(device.type, 2_000) else "two-hop"
        features = torch.from_numpy(X).to(device)
        results = []
        for codes in folds:
            edges = CANDIDATES[chosen](graph, device)
            answer = Search(self, features, codes, edges).run()
            results.append(Transduction(answer, graph.reached_from(codes != UNLABELLED)))
        return results

    def _first_graph(self, X: NDArray[np.float32]) -> Graph:
        if check_choice(self.metric, ("euclidean", "cosine"), name="metric") == "cosine":
            X = X / np.linalg.norm(X, axis=1, keepdims=True).clip(1e-12)
        return knn_edges(ranked_lists(X, self.n_neighbors + 1), self.n_neighbors + 1)


class Search:
    """The state of one bilevel search."""

    def __init__(self, params: LDS, X: Tensor, codes: NDArray[np.int64], edges: AllPairs | NearPairs) -> None:
        seed = np.random.SeedSequence(params.random_state)
        self.params, self.X, self.edges = params, X, edges
        self.generator = torch.Generator(X.device).manual_seed(int(seed.generate_state(1)[0]))
        split = split_labelled(codes, params.pattern, np.random.default_rng(seed))
        self.parts = [torch.from_numpy(part).to(X.device) for part in split]
        self.codes = torch.from_numpy(codes).to(X.device)
        self.n_classes = int(codes.max()) + 1
        self.theta = edges.theta
        self.updates = 0
        self.left_out = torch.zeros((), dtype=torch.int64, device=X.device)

    def run(self) -> NDArray[np.int64]:
        """Search until the stopping accuracy no longer improves, and return the class of every sample."""
        best, best_logits, waited = (-1.0, -math.inf), None, 0
        for _ in range(self.params.rounds):
            weights = self.train_weights()
            logits = self._mean_logits(weights)
            score = self._stop_score(logits)
            waited += 1
            if score > best:
                best, best_logits, waited = score, logits, 0
            log.info("LDS: stopping accuracy %.3f, best %.3f", score[0], best[0])
            if waited >= self.params.patience:
                break
        log.info(
            "LDS: skipped %d of %d updates because their gradient had exploded", self.left_out, self.updates
        )
        assert best_logits is not None
        return best_logits.argmax(1).cpu().numpy()

    def _stop_score(self, logits: Tensor) -> tuple[float, float]:
        """Accuracy on the stopping part; the lower loss breaks ties."""
        rows = self.parts[2]
        correct = (logits[rows].argmax(1) == self.codes[rows]).float().mean()
        return correct.item(), -cross_entropy(logits[rows], self.codes[rows]).item()

    def train_weights(self) -> Weights:
        """One inner training from new weights; θ is updated every τ steps."""
        weights = self._new_weights()
        adam = DifferentiableAdam(weights, self.params.lr)
        best, stalled = math.inf, 0
        for start in range(0, self.params.inner_steps, self.params.tau):
            steps = min(self.params.tau, self.params.inner_steps - start)
            theta = self.theta.clone().requires_grad_()
            losses = []
            for _ in range(steps):
                losses.append(self._train_loss(weights, theta))
                gradients = torch.autograd.grad(losses[-1], weights, create_graph=True)
                weights = adam.step(weights, gradients)
            self._update_theta(weights, theta)
            for value in torch.stack(
                losses
            ).tolist():  # in one transfer, because each transfer waits for the device
                stalled = 0 if value < 0.999 * best else stalled + 1
                best = min(best, value)
            weights = tuple(w.detach().requires_grad_() for w in weights)
            adam.cut()
            if stalled >= 20:
                break
        return weights

    def _new_weights(self) -> Weights:
        shapes = ((self.X.shape[1], self.params.hidden), (self.params.hidden, self.n_classes))
        return tuple(self._glorot(*shape).requires_grad_() for shape in shapes)

    def _glorot(self, rows: int, cols: int) -> Tensor:
        uniform = torch.rand(rows, cols, generator=self.generator, device=self.X.device, dtype=self.X.dtype)
        return (2 * uniform - 1) * math.sqrt(6 / (rows + cols))

    def _train_loss(self, weights: Weights, theta: Tensor) -> Tensor:
        rows = self.parts[0]
        logits = self.logits(weights, theta, self.params.dropout)
        decay = self.params.weight_decay / 2 * weights[0].square().sum()
        return cross_entropy(logits[rows], self.codes[rows]) + decay

    def logits(self, weights: Weights, theta: Tensor, dropout: float = 0.0) -> Tensor:
        """The output of the network on a graph drawn from θ."""
        propagate = self.edges.sample(theta, self.generator)
        hidden = propagate(self.X @ weights[0]).relu()
        if dropout:
            kept = torch.rand(hidden.shape, generator=self.generator, device=hidden.device) >= dropout
            hidden = hidden * kept / (1 - dropout)
        return propagate(hidden @ weights[1])

    def _update_theta(self, weights: Weights, theta: Tensor) -> None:
        """θ ← clip(θ − η g, 0, 1) with g the gradient of the outer loss through the last steps.

        Adam divides by a square root that may be close to 0, so the product of the steps' derivatives sometimes explodes. A
        gradient above 1, a hundred times the usual maximum, is such a case; it is skipped, because it would destroy the
        graph.
        """
        rows = self.parts[1]
        loss = cross_entropy(self.logits(weights, theta)[rows], self.codes[rows])
        (gradient,) = torch.autograd.grad(loss, theta)
        usable = gradient.abs().max() <= 1  # false for NaN too
        self.left_out += ~usable
        gradient = torch.where(usable, gradient, 0.0)
        eta = self.params.eta / (1 + self.updates / 1000)
        self.updates += 1
        self.theta = (self.theta - eta * gradient).clamp_(0, 1)

    @torch.no_grad()
    def _mean_logits(self, weights: Weights) -> Tensor:
        draws = [self.logits(weights, self.theta) for _ in range(self.params.n_graphs)]
        return torch.stack(draws).mean(0)
