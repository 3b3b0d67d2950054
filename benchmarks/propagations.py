"""Another way to spread the head's output H over the graph, with any degree: measured by gnns.py.

    heat kernel    Z = Σ_{k=0…K} e^(−t) t^k/k! Â^k H

It has APPNP's head of two layers. (Klicpera et al., Diffusion Improves Graph Learning, NeurIPS 2019.)
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from grande_gnn.degree import Degree
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate


class HeatKernel(nn.Module):
    """The heat kernel, cut off after K = 10 hops."""

    t, n_hops = 3.0, 10

    def __init__(self, n_features: int, n_classes: int, hidden: int = 256, dropout: float = 0.5) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        state = self.second(self.dropout(self.first(self.dropout(X)).relu()))
        delta = degree(state, graph)
        total = math.exp(-self.t) * state
        for k in range(1, self.n_hops + 1):
            state = propagate(state, delta, graph)
            total = total + math.exp(-self.t) * self.t**k / math.factorial(k) * state
        return total


MODULES = {"heat": HeatKernel}
"""The modules by the names that gnns.py gives them."""
