"""What every layer with the GRaNDe degree has."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from grande_gnn.degree import Grande
from grande_gnn.engine.gnns.convolution import message_factors
from grande_gnn.errors import InvalidInputError
from grande_gnn.nn import (
    GrandeAPPNP,
    GrandeGATConv,
    GrandeGCNConv,
    GrandeGPRConv,
    GrandeSAGEConv,
    GrandeSGConv,
)

LAYERS = {
    "appnp": GrandeAPPNP,
    "sgconv": lambda **options: GrandeSGConv(6, 4, **options),
    "gcnconv": lambda **options: GrandeGCNConv(6, 4, **options),
    "gprconv": GrandeGPRConv,
    "gatconv": lambda **options: GrandeGATConv(6, 4, heads=2, **options),
    "sageconv": lambda **options: GrandeSAGEConv(6, 4, **options),
}
EACH = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)


@EACH
def test_nothing_is_cached(make):
    with pytest.raises(InvalidInputError, match="changes in every epoch: remove cached; got cached=True"):
        make(cached=True)


@EACH
def test_detach_stops_the_gradient_at_the_degree_only(make, x, edges):
    x.requires_grad_()
    torch.manual_seed(0)
    through = make().double()
    past = make(detach=True).double()
    past.load_state_dict(through.state_dict())
    torch.testing.assert_close(through(x, edges), past(x, edges))
    both = [torch.autograd.grad(layer(x, edges).square().sum(), x)[0] for layer in (through, past)]
    assert not torch.allclose(*both)


@EACH
def test_permuting_nodes_permutes_the_answer(make, x, edges):
    layer, order = make().double(), torch.randperm(len(x), generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(layer(x[order], order.argsort()[edges]), layer(x, edges)[order])


@EACH
def test_sigma_matters(make, x, edges):
    torch.manual_seed(0)
    one = make(sigma=0.1).double()
    other = make(sigma=1.0).double()
    other.load_state_dict(one.state_dict())
    assert not torch.allclose(one(x, edges), other(x, edges))


def test_factors_are_those_of_the_engine(x, edges, graph):
    index, factors = GrandeGCNConv(6, 4, sigma=0.3).message_factors(x, edges, None)
    order = (index[0] * len(x) + index[1]).argsort()
    torch.testing.assert_close(factors[order], message_factors(x, graph, Grande(0.3)))


def test_edge_weights_multiply_the_factors(x, edges):
    weight = torch.rand(edges.size(1), generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    layer = GrandeGCNConv(6, 4)
    _, plain = layer.message_factors(x, edges, None)
    _, weighted = layer.message_factors(x, edges, weight)
    torch.testing.assert_close(weighted[: edges.size(1)], plain[: edges.size(1)] * weight)
