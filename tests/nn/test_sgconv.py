"""SGC as a layer is its pure function."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.nn import SGConv

from grande_gnn.degree import grande_degree
from grande_gnn.nn import GrandeSGConv
from grande_gnn.propagation import sgc


def test_it_is_sgc_of_the_transformed_features(x, edges, graph):
    conv = GrandeSGConv(6, 4, K=3, sigma=0.3).double()
    h = conv.lin(x)
    torch.testing.assert_close(conv(x, edges), sgc(h, grande_degree(h, graph, 0.3), graph, n_hops=3))


def test_with_the_plain_degree_it_is_sgconv(plain_degree, x, edges):
    theirs, ours = SGConv(6, 4, K=2, bias=False).double(), GrandeSGConv(6, 4, bias=False).double()
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(x, edges), theirs(x, edges))
