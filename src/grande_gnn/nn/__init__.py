"""The GRaNDe degree for PyTorch Geometric: layers and a transform to drop into an existing model.

    GrandeNorm            in place of gcn_norm     Â_qi = Ã_qi / √(δ(q) δ(i))
    GrandeSGConv          in place of SGConv       Z = Â^K (XW + b)
    GrandeAPPNP           in place of APPNP        H⁽ᵏ⁾ = (1 − α) Â H⁽ᵏ⁻¹⁾ + α H⁽⁰⁾,  Z = H⁽ᴷ⁾
    GrandeGPRConv         GPR-GNN                  Z = Σ γ_k Â^k H⁽⁰⁾ with learned γ
    GrandeGCNConv         in place of GCNConv      Z = Â X W + b
    GrandeGATConv         in place of GATConv      attention times √(r(q) r(i)),  r = |N|/δ
    GrandeSAGEConv        in place of SAGEConv     mean of √(r(q) r(i)) x_i W, and x_q V
    ReciprocalKNNGraph    in place of KNNGraph     i – j when each is among the other's k nearest

δ is the degree of :mod:`grande_gnn.degree`, recomputed from the layer's H⁽⁰⁾ in every forward pass. One file per layer.

Common to all of them:

- A graph is an ``edge_index`` (2 × E, column [i, j] sends i's message to j), or a torch sparse tensor (COO, CSR or
  CSC) read as ``adj_t``: rows are targets, columns are sources, stored values are edge weights.
- There is exactly one self-loop per node: missing ones are added with weight 1, given ones keep their weight.
- Edge weights multiply the entries of Ã. The degree ignores them: it counts neighbors and measures distances.
- The graph should be undirected, with both directions given, as in the paper. On a directed graph N(q) is the set of
  nodes that q's edges point *to*, and δ is used at both ends, as in the authors' code; ``gcn_norm`` counts the nodes
  that point to q. After ``torch_geometric.utils.to_undirected`` there is no difference.
- The largest distance is taken over all given edges: a mini-batch of several graphs is one graph here.
- A repeated column is a repeated neighbor, as everywhere in PyTorch Geometric; ``coalesce`` removes it.
- ``x`` may have leading dimensions, (..., n, d): several signals on one graph, each with a degree of its own.

Requires ``pip install "grande-gnn[pyg]"``, but not torch-scatter, torch-sparse or pyg-lib.
"""

from grande_gnn.errors import MissingDependencyError

try:
    import torch_geometric as _torch_geometric
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f'grande_gnn.nn needs PyTorch Geometric: pip install "grande-gnn[pyg]"; got {error}'
    ) from None

from grande_gnn.nn.appnp import GrandeAPPNP
from grande_gnn.nn.gatconv import GrandeGATConv
from grande_gnn.nn.gcnconv import GrandeGCNConv
from grande_gnn.nn.gprconv import GrandeGPRConv
from grande_gnn.nn.norm import GrandeNorm
from grande_gnn.nn.reciprocal_graph import ReciprocalKNNGraph
from grande_gnn.nn.sageconv import GrandeSAGEConv
from grande_gnn.nn.sgconv import GrandeSGConv

__all__ = [
    "GrandeAPPNP",
    "GrandeGATConv",
    "GrandeGCNConv",
    "GrandeGPRConv",
    "GrandeNorm",
    "GrandeSAGEConv",
    "GrandeSGConv",
    "ReciprocalKNNGraph",
]
