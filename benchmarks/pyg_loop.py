"""What the same trainings cost as a loop of plain PyTorch Geometric models, one after the other.

    python benchmarks/pyg_loop.py --model appnp --degree grande --features features.npz
    python benchmarks/pyg_loop.py --model sgc --made 1360 1280 17 --device cuda

This is the baseline that the replica engine is measured against, and it shares no code with it: only the graph and the
features come from this package. The models are written as a user of PyTorch Geometric would, as fast as that allows:
``cached=True`` with degree centrality; with GRaNDe the degree by gather and scatter in every forward pass, gradient
included, on edges whose self-loops and counts were made once. Of several thread counts the fastest is taken.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from torch_geometric.nn import APPNP, MessagePassing, SGConv
from torch_geometric.utils import scatter

from grande_gnn.graph import Graph, reciprocal_knn_graph
from grande_gnn.internal.features_file import load_features

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


class GrandePropagation(MessagePassing):
    """K hops with return α under the GRaNDe degree of the input."""

    def __init__(self, K: int, alpha: float, sigma: float) -> None:
        super().__init__(aggr="add")
        self.K, self.alpha, self.sigma = K, alpha, sigma

    def forward(self, h: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        weight = self.normalize(h, edge_index, count)
        z = h
        for _ in range(self.K):
            z = self.propagate(edge_index, x=z, weight=weight)
            if self.alpha:
                z = (1 - self.alpha) * z + self.alpha * h
        return z

    def normalize(self, h: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        q, i = edge_index
        rho = torch.linalg.vector_norm(h[q] - h[i], dim=1)
        low, high = rho.detach().min(), rho.detach().max()
        rho = (rho - low) / (high - low).clamp_min(1e-12)
        kernel = torch.exp(-rho.square() / self.sigma)
        s = scatter(1 / (kernel + 1e-12), q, dim_size=len(h), reduce="sum") / count
        scale = (count + s).rsqrt()
        return scale[q] * scale[i]

    def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
        return weight.view(-1, 1) * x_j


class CentralitySGC(nn.Module):
    def __init__(self, d: int, c: int) -> None:
        super().__init__()
        self.conv = SGConv(d, c, K=2, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        return self.conv(x, edge_index)


class GrandeSGC(nn.Module):
    def __init__(self, d: int, c: int, sigma: float) -> None:
        super().__init__()
        self.linear = nn.Linear(d, c)
        self.propagation = GrandePropagation(2, 0.0, sigma)

    def forward(self, x: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        return self.propagation(self.linear(x), edge_index, count)


class _Perceptron(nn.Module):
    def __init__(self, d: int, c: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(d, hidden), nn.Linear(hidden, c)

    def head(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(F.dropout(x, 0.5, self.training)))
        return self.second(F.dropout(x, 0.5, self.training))


class CentralityAPPNP(_Perceptron):
    def __init__(self, d: int, c: int, hidden: int) -> None:
        super().__init__(d, c, hidden)
        self.propagation = APPNP(K=10, alpha=0.1, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        return self.propagation(self.head(x), edge_index)


class GrandeAPPNP(_Perceptron):
    def __init__(self, d: int, c: int, hidden: int, sigma: float) -> None:
        super().__init__(d, c, hidden)
        self.propagation = GrandePropagation(10, 0.1, sigma)

    def forward(self, x: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        return self.propagation(self.head(x), edge_index, count)


def builder(
    model: str, degree: str, sigma: float = 0.2, hidden: int = 256
) -> Callable[[int, int], nn.Module]:
    """A function (features, classes) → a fresh model."""
    return {
        ("sgc", "centrality"): CentralitySGC,
        ("sgc", "grande"): partial(GrandeSGC, sigma=sigma),
        ("appnp", "centrality"): partial(CentralityAPPNP, hidden=hidden),
        ("appnp", "grande"): partial(GrandeAPPNP, hidden=hidden, sigma=sigma),
    }[model, degree]


@dataclass(frozen=True)
class PygTiming:
    """How long a training took, with the better number of threads, and what every training reached."""

    seconds: float  # median of the trainings with the best number of threads
    threads: int
    accuracies: NDArray[np.float64]  # percent; one row a number of threads, one column a training (= fold)


def time_pyg(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    graph: Graph,
    splits: Sequence[Split],
    *,
    model: str = "appnp",
    degree: str = "grande",
    sigma: float = 0.2,
    hidden: int = 256,
    trainings: int = 3,
    threads: Sequence[int] = (1, 2),
    epochs: int = 200,
    lr: float = 1e-3,
    device: str = "cpu",
) -> PygTiming:
    """Time ``trainings`` full trainings, the first on the first (train, test) split and so on, after a warm-up."""
    x = torch.from_numpy(features).to(device)
    y = torch.from_numpy(labels).to(device)
    edge_index = torch.stack(graph.edges(device))
    count = torch.from_numpy(graph.degree).to(x)
    build = partial(builder(model, degree, sigma, hidden), x.shape[1], int(y.max()) + 1)
    counts = threads if device == "cpu" else threads[:1]  # on CUDA the processor only launches kernels
    seconds, accuracies = [], []
    for row, number in enumerate(counts):
        with _Threads(number):
            _train(build, x, y, edge_index, count, splits[0], min(epochs, 10), lr, seed=0)
            # On CPU each thread count is a repetition of its own; more rows than one tell the spread.
            runs = [
                _train(
                    build, x, y, edge_index, count, splits[t % len(splits)], epochs, lr, seed=1000 * row + t
                )
                for t in range(trainings)
            ]
        seconds.append(float(np.median([run[0] for run in runs])))
        accuracies.append([run[1] for run in runs])
    best = int(np.argmin(seconds))
    return PygTiming(seconds[best], counts[best], np.array(accuracies))


def _train(
    build: Callable[[], nn.Module],
    x: Tensor,
    y: Tensor,
    edge_index: Tensor,
    count: Tensor,
    split: Split,
    epochs: int,
    lr: float,
    seed: int,
) -> tuple[float, float]:
    """One training: (seconds, accuracy in percent)."""
    torch.manual_seed(seed)  # PyTorch Geometric draws weights and masks from the global stream only
    train, test = (torch.from_numpy(rows).to(x.device) for rows in split)
    _wait(x)
    start = time.perf_counter()
    model = build().to(x.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=5e-4)
    model.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(x, edge_index, count)[train], dim=1), y[train])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        predictions = model(x, edge_index, count).argmax(1)
    _wait(x)
    seconds = time.perf_counter() - start
    return seconds, 100 * (predictions[test] == y[test]).double().mean().item()


def _wait(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize(x.device)


class _Threads:
    """torch with so many threads for a while."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(self.number)

    def __exit__(self, *exception: object) -> None:
        torch.set_num_threads(self.before)


def made_features(
    n: int, d: int, c: int, random_state: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A mixture of c Gaussians, sorted by class, and its labels.

    Variances fall off like those of pooled CNN features, so that distances differ between pairs as they do there; a
    round Gaussian in 2,048 dimensions would put everything at one distance.
    """
    rng = np.random.default_rng(random_state)
    spread = (1 + np.arange(d)) ** -0.5
    labels = np.sort(np.arange(n) % c)
    centres = rng.normal(size=(c, d)) * spread
    features = 0.5 * centres[labels] + rng.normal(size=(n, d)) * spread
    return (5 * features).astype(np.float32), labels


def paper_splits(labels: NDArray[np.int64], folds: int = 10) -> list[Split]:
    """(train, test) rows: one fold trains, the others test."""
    return [(fold, rest) for rest, fold in StratifiedKFold(folds).split(labels, labels)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--features", type=Path, help="a features .npz with labels")
    source.add_argument(
        "--made", type=int, nargs=3, metavar=("N", "D", "C"), help="made features of this size"
    )
    parser.add_argument("--model", choices=("sgc", "appnp"), default="appnp")
    parser.add_argument("--degree", choices=("centrality", "grande"), default="grande")
    parser.add_argument("--sigma", type=float, default=0.2)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--neighbors", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument(
        "--trainings", type=int, default=3, help="full trainings to time with each thread count"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.made:
        features, labels = made_features(*options.made)
    else:
        content = load_features(options.features)
        features, labels = content.features, np.unique(content.labels, return_inverse=True)[1]
    graph = reciprocal_knn_graph(features, options.neighbors, device=options.device.split(":")[0])
    names = ("model", "degree", "sigma", "hidden", "trainings", "threads", "epochs", "lr", "device")
    settings = {name: getattr(options, name) for name in names}
    timing = time_pyg(features, labels, graph, paper_splits(labels), **settings)
    print(
        f"{options.model} {options.degree}, {features.shape[0]} x {features.shape[1]}, {graph.n_edges} edges"
    )
    print(f"{timing.seconds:.3f} s a training with {timing.threads} thread(s) on {options.device}")
    print(
        f"accuracies {np.array2string(timing.accuracies, precision=2)}, mean {timing.accuracies.mean():.2f}"
    )


if __name__ == "__main__":
    main()
