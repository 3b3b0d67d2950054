"""GCN and GPR-GNN by the engine's plain path, compared with a loop of PyTorch Geometric layers, in interleaved pairs.

    python benchmarks/plain_speed.py FILE.npz --csv benchmarks/results/plain_speed.csv [--pairs 9] [--epochs 10]

Both train the same network on the same graph with degree centrality and Adam, on one core, in one process and in turn. A
row is one pair; ``ratio`` is the time of ours divided by that of PyTorch Geometric. Rows are appended.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import APPNP, GCNConv

from common import append_rows
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.graph import Graph, reciprocal_knn_graph
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels

COLUMNS = ("model", "pair", "epochs", "ours_seconds", "pyg_seconds", "ratio")
HIDDEN = 256


class PygGCN(nn.Module):
    def __init__(self, d: int, c: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(d, HIDDEN), GCNConv(HIDDEN, c)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = self.first(F.dropout(x, 0.5, self.training), edges).relu()
        return self.second(F.dropout(x, 0.5, self.training), edges)


class PygPropagation(nn.Module):
    """Two layers and ten hops: the cost of GPR-GNN, of which PyTorch Geometric has no layer, is that of APPNP."""

    def __init__(self, d: int, c: int) -> None:
        super().__init__()
        self.first, self.second, self.hops = nn.Linear(d, HIDDEN), nn.Linear(HIDDEN, c), APPNP(10, 0.1)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = self.first(F.dropout(x, 0.5, self.training)).relu()
        return self.hops(self.second(F.dropout(x, 0.5, self.training)), edges)


THEIRS: dict[str, Callable[[int, int], nn.Module]] = {"gcn": PygGCN, "gprgnn": PygPropagation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    content = load_features(options.features)
    codes, names = encode_labels(content.labels)
    few = np.where(np.arange(len(codes)) % 10 == 0, codes, -1)
    graph = reciprocal_knn_graph(content.features, 40)
    for model in THEIRS:
        ratios = []
        for pair in range(options.pairs):
            ours = ours_seconds(model, content.features, graph, few, len(names), options.epochs)
            theirs = pyg_seconds(model, content.features, graph, few, len(names), options.epochs)
            ratios.append(ours / theirs)
            row = (model, pair, options.epochs, f"{ours:.4f}", f"{theirs:.4f}", f"{ratios[-1]:.3f}")
            append_rows(COLUMNS, [row], options.csv)
        print(
            f"{model}: ours takes {np.median(ratios):.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def ours_seconds(model: str, X: np.ndarray, graph: Graph, few: np.ndarray, c: int, epochs: int) -> float:
    settings = Settings(model=model, epochs=epochs, device="cpu")
    start = time.perf_counter()
    train(X, graph, [Replica(few, "centrality")], c, settings)
    return time.perf_counter() - start


def pyg_seconds(model: str, X: np.ndarray, graph: Graph, few: np.ndarray, c: int, epochs: int) -> float:
    x, rows = torch.from_numpy(X), torch.from_numpy(np.flatnonzero(few >= 0))
    y = torch.from_numpy(few)[rows]
    q, i = (end[graph.rows != graph.indices] for end in graph.edges())  # the layers add self-loops
    edges = torch.stack([i, q])
    start = time.perf_counter()
    module = THEIRS[model](x.shape[1], c)
    optimizer = torch.optim.Adam(module.parameters(), 1e-3, weight_decay=5e-4)
    for _ in range(epochs):
        module.train()
        optimizer.zero_grad()
        F.cross_entropy(module(x, edges)[rows], y).backward()
        optimizer.step()
    module.eval()
    with torch.no_grad():
        module(x, edges)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
