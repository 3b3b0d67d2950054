"""The PyTorch Geometric layers against dense closed forms, the pure functions and PyTorch Geometric itself."""

import importlib
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.data import Data
from torch_geometric.nn import APPNP, Sequential, SGConv
from torch_geometric.utils import to_dense_adj, to_undirected

from grande_gnn.degree import grande_degree
from grande_gnn.errors import InvalidInputError, MissingDependencyError
from grande_gnn.graph import Graph
from grande_gnn.nn import GrandeAPPNP, GrandeNorm, GrandeSGConv, ReciprocalKNNGraph
from grande_gnn.propagation import appnp, sgc

N, D, C = 25, 6, 4


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def features(n=N, d=D, seed=0, dtype=torch.float64):
    return torch.randn(n, d, generator=generator(seed), dtype=dtype)


def undirected(n=N, n_edges=40, seed=1):
    """A random undirected edge_index without self-loops; node n - 1 is isolated."""
    pairs = torch.randint(0, n - 1, (2, n_edges), generator=generator(seed))
    return to_undirected(pairs[:, pairs[0] != pairs[1]], num_nodes=n)


def directed(n=N, n_edges=60, seed=2):
    codes = torch.randperm(n * n, generator=generator(seed))[:n_edges]
    edges = torch.stack((codes // n, codes % n))
    return edges[:, edges[0] != edges[1]]


def as_graph(edge_index, n=N):
    return Graph.from_edges(*edge_index.numpy(), n_nodes=n)


def dense(h, edge_index, sigma, weight=None):
    """Â as an n × n matrix, row = receiver, straight from the formulas; edges without repetition or loops."""
    n = len(h)
    points_to = to_dense_adj(edge_index, max_num_nodes=n)[0].to(h) + torch.eye(n).to(h)  # q → i
    rho = torch.linalg.vector_norm(h[:, None] - h[None], dim=-1)
    largest = (rho * points_to).max().detach()
    penalty = torch.exp((rho / largest) ** 2 / sigma) if largest > 0 else torch.ones_like(rho)
    count = points_to.sum(1)
    delta = count + (points_to * penalty).sum(1) / count
    a = points_to.clone()
    if weight is not None:
        a[edge_index[0], edge_index[1]] = weight
    return a.T / torch.sqrt(delta[:, None] * delta[None])


def dense_sgc(conv, x, edge_index, weight=None):
    h = conv.lin(x)
    return torch.linalg.matrix_power(dense(h, edge_index, conv.norm.sigma, weight), conv.K) @ h


def dense_appnp(layer, h, edge_index, weight=None):
    """The recursion with the powers written out, Σ α(1 − α)ᵗ Âᵗ H + (1 − α)ᴷ Âᴷ H."""
    a, alpha, K = dense(h, edge_index, layer.norm.sigma, weight), layer.alpha, layer.K
    power = torch.linalg.matrix_power
    terms = [alpha * (1 - alpha) ** t * power(a, t) @ h for t in range(K)]
    return sum(terms) + (1 - alpha) ** K * power(a, K) @ h


def gradients(output, *inputs):
    return torch.autograd.grad(output.square().sum(), inputs)


def assert_equal(ours, theirs, tolerance=1e-10):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("edges", [undirected(), directed()], ids=["undirected", "directed"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sigma", [0.1, 0.2, 1.0])
def test_layers_are_the_dense_closed_forms(edges, weighted, sigma):
    x = features().requires_grad_()
    weight = torch.rand(edges.size(1), generator=generator(3), dtype=x.dtype).requires_grad_()
    given, inputs = (weight, (x, weight)) if weighted else (None, (x,))
    conv = GrandeSGConv(D, C, K=3, sigma=sigma).double()
    propagation = GrandeAPPNP(K=5, alpha=0.2, sigma=sigma)
    for layer, closed_form in ((conv, dense_sgc), (propagation, dense_appnp)):
        ours, theirs = layer(x, edges, given), closed_form(layer, x, edges, given)
        wanted = (*inputs, *layer.parameters())
        assert_equal((ours, *gradients(ours, *wanted)), (theirs, *gradients(theirs, *wanted)))


def test_layers_agree_with_the_pure_functions_in_float32():
    edges, x = undirected(), features(dtype=torch.float32).requires_grad_()
    graph = as_graph(edges)
    conv, propagation = GrandeSGConv(D, C), GrandeAPPNP()
    h = conv.lin(x)
    pairs = [
        (conv(x, edges), sgc(h, grande_degree(h, graph), graph)),
        (propagation(x, edges), appnp(x, grande_degree(x, graph), graph)),
    ]
    for ours, theirs in pairs:
        assert_equal((ours, *gradients(ours, x)), (theirs, *gradients(theirs, x)), 1e-6)


@pytest.mark.parametrize("sigma", [1e-30, 1e-3])
def test_tiny_sigma_stays_finite(sigma):
    x = features(dtype=torch.float32).requires_grad_()
    out = GrandeSGConv(D, C, sigma=sigma)(x, undirected())
    assert out.isfinite().all()
    assert gradients(out, x)[0].isfinite().all()


def test_permuting_nodes_permutes_the_answer():
    x, edges, order = features(), undirected(), torch.randperm(N, generator=generator(4))
    place = order.argsort()
    for layer in (GrandeSGConv(D, C).double(), GrandeAPPNP()):
        torch.testing.assert_close(layer(x[order], place[edges]), layer(x, edges)[order])


def test_an_isolated_node_keeps_half_of_itself_each_hop():
    conv, x = GrandeSGConv(D, C, K=3).double(), features()
    torch.testing.assert_close(conv(x, undirected())[-1], conv.lin(x)[-1] / 8)


def test_no_edges_at_all():
    x = features()
    torch.testing.assert_close(GrandeAPPNP(K=1, alpha=0.5)(x, torch.empty(2, 0, dtype=torch.long)), 0.75 * x)


def test_equal_nodes_have_a_finite_gradient():
    x = features()
    x[1], x[2] = x[0], x[0]
    x.requires_grad_()
    edges = to_undirected(torch.tensor([[0, 0, 1, 3], [1, 2, 2, 4]]), num_nodes=N)
    out = GrandeSGConv(D, C).double()(x, edges)
    assert gradients(out, x)[0].isfinite().all()
    torch.testing.assert_close(out[1], out[2])
    all_equal = torch.ones(N, D, dtype=torch.float64, requires_grad=True)
    assert gradients(GrandeAPPNP()(all_equal, edges), all_equal)[0].isfinite().all()


def test_there_is_one_self_loop_a_node_whatever_was_given():
    x, edges = features(), undirected()
    loops = torch.arange(0, N, 2).repeat(2, 1)
    conv = GrandeSGConv(D, C).double()
    torch.testing.assert_close(conv(x, torch.cat((edges, loops), 1)), conv(x, edges))
    index, _ = GrandeNorm()(x, torch.cat((loops, edges), 1))
    assert (index[0] == index[1]).sum() == N


def test_on_a_directed_graph_the_neighbors_are_those_pointed_to():
    # 0 → 1, 0 → 2: N(0) = {0, 1, 2} while 1 and 2 have only themselves, and messages flow from 0.
    h = torch.tensor([[0.0], [1.0], [1.0]], dtype=torch.float64)
    out = GrandeAPPNP(K=1, alpha=0.0, sigma=1.0)(h + 1, torch.tensor([[0, 0], [1, 2]]))
    delta = 3 + (1 + 2 * np.e) / 3
    expected = [1 / delta, 2 / 2 + 1 / np.sqrt(2 * delta), 2 / 2 + 1 / np.sqrt(2 * delta)]
    assert out.flatten().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("edges", [undirected(), directed()], ids=["undirected", "directed"])
def test_sparse_tensors_are_read_as_adj_t(edges, layout):
    x = features()
    weight = torch.rand(edges.size(1), generator=generator(6), dtype=x.dtype).requires_grad_()
    for layer in (GrandeSGConv(D, C).double(), GrandeAPPNP()):
        adj_t = getattr(torch.sparse_coo_tensor(edges.flip(0), weight, (N, N)).coalesce(), layout)()
        ours, theirs = layer(x, adj_t), layer(x, edges, weight)
        assert_equal((ours, *gradients(ours, weight)), (theirs, *gradients(theirs, weight)))


def test_an_uncoalesced_sparse_tensor_is_summed_first():
    x, edges = features(), undirected()
    twice = torch.sparse_coo_tensor(
        edges.repeat(1, 2), torch.full((2 * edges.size(1),), 0.5).double(), (N, N)
    )
    conv = GrandeSGConv(D, C).double()
    torch.testing.assert_close(conv(x, twice), conv(x, edges))


def test_gradients_by_finite_differences():
    # The largest distance is held constant by definition, so two nodes far away, not differentiated, set it.
    x, edges = features(8, 3), undirected(8, 12)
    far = torch.tensor([[90.0] * 3, [-90.0] * 3], dtype=torch.float64)
    edges = torch.cat((edges, torch.tensor([[8, 9], [9, 8]])), 1)
    conv = GrandeSGConv(3, 2, sigma=1e-3).double()
    conv.lin.weight.requires_grad_(False)  # it moves the far nodes too
    weight = torch.rand(edges.size(1), generator=generator(7), dtype=torch.float64)
    for layer in (conv, GrandeAPPNP(K=3, sigma=1e-3)):
        assert torch.autograd.gradcheck(
            lambda x, w, layer=layer: layer(torch.cat((x, far)), edges, w),
            (x.requires_grad_(), weight.requires_grad_()),
        )


def test_detach_stops_the_gradient_at_the_degree():
    h, edges = features().requires_grad_(), undirected()
    assert GrandeNorm()(h, edges)[1].requires_grad
    assert not GrandeNorm(detach=True)(h, edges)[1].requires_grad
    for make in (GrandeAPPNP, lambda **options: GrandeSGConv(D, C, **options).double()):
        torch.manual_seed(0)
        through = make()
        torch.manual_seed(0)
        past = make(detach=True)
        torch.testing.assert_close(through(h, edges), past(h, edges))
        assert not torch.allclose(*gradients(through(h, edges), h), *gradients(past(h, edges), h))


def test_leading_dimensions_are_separate_signals():
    x, edges = torch.stack((features(), 3 * features(seed=9))), undirected()
    for layer in (GrandeSGConv(D, C).double(), GrandeAPPNP()):
        torch.testing.assert_close(layer(x, edges), torch.stack([layer(each, edges) for each in x]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_near(dtype):
    x, edges, layer = features(), undirected(), GrandeAPPNP(sigma=0.05)
    half = x.to(dtype).requires_grad_()
    out = layer(half, edges)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), layer(x, edges), rtol=0, atol=0.05)
    assert gradients(out, half)[0].isfinite().all()  # the largest penalty, e²⁰, is no float16


class TestDropIn:
    def test_parameters_are_those_of_sgconv(self):
        conv = GrandeSGConv(D, C)
        conv.load_state_dict(SGConv(D, C).state_dict())
        assert [name for name, _ in conv.named_parameters()] == ["lin.weight", "lin.bias"]
        assert not GrandeAPPNP().state_dict()

    def test_only_the_degree_differs_from_pyg(self, monkeypatch):
        monkeypatch.setattr(
            "grande_gnn.nn.norm.grande_degree", lambda h, graph, sigma, detach: graph.degree.to(h)
        )
        x, edges = features(), undirected()
        theirs = SGConv(D, C, K=2, bias=False).double()
        ours = GrandeSGConv(D, C, bias=False).double()
        ours.load_state_dict(theirs.state_dict())
        torch.testing.assert_close(ours(x, edges), theirs(x, edges))
        torch.testing.assert_close(GrandeAPPNP(7, 0.3)(x, edges), APPNP(7, 0.3)(x, edges))

    def test_reset_parameters_draws_anew(self):
        conv = GrandeSGConv(D, C)
        before = conv.lin.weight.clone()
        conv.reset_parameters()
        assert not torch.equal(conv.lin.weight, before)
        GrandeAPPNP().reset_parameters()

    def test_repr(self):
        assert repr(GrandeSGConv(16, 7)) == "GrandeSGConv(16, 7, K=2, sigma=0.2)"
        assert repr(GrandeAPPNP(5, 0.2, sigma=1)) == "GrandeAPPNP(K=5, alpha=0.2, sigma=1)"
        assert repr(GrandeNorm()) == "GrandeNorm(sigma=0.2)"
        assert repr(ReciprocalKNNGraph(9)) == "ReciprocalKNNGraph(k=9)"

    def test_input_size_may_come_from_the_first_input(self):
        x, edges = features(dtype=torch.float32), undirected()
        conv = GrandeSGConv(-1, C, bias=False)
        assert conv(x, edges).shape == (N, C)
        assert conv.lin.weight.shape == (C, D)
        assert conv.lin.bias is None

    def test_a_model_trains_end_to_end(self):
        rng = np.random.default_rng(0)
        y = torch.arange(120) % 3
        x = torch.from_numpy(rng.normal(size=(120, 8)) + 3 * rng.normal(size=(3, 8))[y.numpy()]).float()
        data = ReciprocalKNNGraph(k=10)(Data(x=x, y=y))
        torch.manual_seed(0)
        model = Sequential(
            "x, edge_index",
            [
                (torch.nn.Dropout(0.5), "x -> x"),
                (GrandeSGConv(8, 16, K=1), "x, edge_index -> x"),
                torch.nn.ReLU(),
                torch.nn.Linear(16, 3),
                (GrandeAPPNP(K=5, alpha=0.1, sigma=0.5), "x, edge_index -> x"),
            ],
        )
        train = torch.arange(120) < 12
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
        losses = []
        for _ in range(100):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x, data.edge_index)[train], data.y[train])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        accuracy = (model(data.x, data.edge_index).argmax(1) == data.y)[~train].double().mean()
        assert losses[-1] < 0.5 * losses[0]
        assert accuracy > 0.95


EDGES, X = undirected(), features(dtype=torch.float32)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GrandeSGConv(D, C, cached=True), "changes in every epoch: remove cached; got cached=True"),
        (lambda: GrandeAPPNP(cached=True), "changes in every epoch: remove cached; got cached=True"),
        (lambda: GrandeSGConv(D, C, sigma=0), "sigma must be a positive number.*got 0"),
        (lambda: GrandeNorm(sigma=-1.0), "sigma must be a positive number.*got -1.0"),
        (lambda: GrandeAPPNP(K=-1), "K must be an integer of at least 0; got -1"),
        (lambda: GrandeAPPNP(alpha=1.5), r"alpha must be a number in \[0, 1\]; got 1.5"),
        (lambda: GrandeAPPNP(dropout=-0.1), r"dropout must be a number in \[0, 1\]; got -0.1"),
        (lambda: GrandeAPPNP()(X, EDGES, torch.ones(EDGES.size(1), 1)), r"edge_weight must be one number per edge"),
        (lambda: GrandeAPPNP()(X, EDGES.T), r"edge_index must be a 2 x E tensor.*got \(\d+, 2\)"),
        (lambda: GrandeAPPNP()(X, EDGES.numpy()), "edge_index must be a 2 x E tensor.*got ndarray"),
        (lambda: GrandeAPPNP()(X, torch.eye(N).to_sparse(), torch.ones(N)), "got edge_weight as well"),
        (lambda: GrandeAPPNP()(X, torch.eye(N + 1).to_sparse()), r"adj_t must be 25 x 25.*got shape \(26, 26\)"),
        (lambda: ReciprocalKNNGraph(0), "k must be an integer of at least 1; got 0"),
        (lambda: ReciprocalKNNGraph()(Data(pos=X)), "data.x must hold the features.*attr=; got None"),
    ],
)  # fmt: skip
def test_says_what_is_wrong(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()


def test_without_pytorch_geometric_the_message_has_the_pip_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "grande_gnn.nn")
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_geometric"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[pyg\]"'):
        importlib.import_module("grande_gnn.nn")
