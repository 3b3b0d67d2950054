"""Each kernel of the graph against its formula in dense algebra."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.engine.cpu.kernels import numbered_pairs
from grande_gnn.engine.cuda.kernels import graph_kernels as kernels

N, R, C = 11, 3, 5
COLUMNS = {"QUADS": False, "BLOCK": 16, "num_warps": 1}
TILES = {"RB": 4, "CB": 8, "num_warps": 1}


@pytest.fixture
def graph(make):
    return make.graph(N, 3, np.random.default_rng(0))


@pytest.fixture
def put(device):
    """An integer array on the device."""
    return lambda array: torch.from_numpy(np.asarray(array).astype(np.int32)).to(device)


@pytest.fixture
def dense(graph, device):
    """Ã as a dense matrix."""
    return torch.from_numpy(graph.to_scipy(np.float32).toarray()).to(device)


@pytest.fixture
def scale(tensor):
    """d of every node and replica, positive."""
    return tensor(N, R, seed=7).abs() + 0.5


def wide(x):
    return x.repeat_interleave(C, dim=1)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("back", [0.0, 0.3])
def test_hop(graph, dense, put, tensor, scale, scaled, back):
    S, H, out = tensor(N, R * C), tensor(N, R * C, seed=1), tensor(N, R * C, seed=2)
    kernels.hop[(N, 1)](
        S, H, scale, out, put(graph.indptr), put(graph.indices), R * C, R, C, 0.7, back,
        RETURN=back > 0, SCALE=scaled, NB=4, **COLUMNS,
    )  # fmt: skip
    expected = 0.7 * wide(scale) * (dense @ S) + back * H
    np.testing.assert_allclose(
        out.cpu(), (expected * wide(scale) if scaled else expected).cpu(), rtol=1e-4, atol=1e-5
    )


def test_gather_gradients(tensor, scale):
    K, alpha, D = 3, 0.2, wide(scale)
    states, gradients = tensor(K, N, R * C), tensor(K + 1, N, R * C, seed=1)  # H⁽ᵏ⁾ and G⁽ᵏ⁾
    H, Z = states[0].clone(), tensor(N, R * C, seed=2)
    to_head, log_scale = torch.empty_like(Z), Z.clone()
    kernels.gather_gradients[(N, 1)](
        states * D, gradients * D, H, log_scale, scale, to_head, N * R * C, R * C, R, C, K, alpha, **COLUMNS
    )
    np.testing.assert_allclose(
        to_head.cpu(), (gradients[0] + alpha * gradients[1:].sum(0)).cpu(), rtol=1e-4, atol=1e-5
    )
    expected = gradients[0] * H + gradients[K] * (Z - alpha * H)
    for k in range(1, K):
        expected += gradients[k] * (2 * states[k] - alpha * H)
    np.testing.assert_allclose(log_scale.cpu(), expected.cpu(), rtol=1e-3, atol=1e-4)


def test_pair_distances(graph, put, tensor, device):
    H = tensor(N, R, C)
    pairs, _ = numbered_pairs(graph)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=N))])
    rho, largest = torch.zeros(len(pairs) + 1, R, device=device), torch.zeros(R, device=device)
    kernels.pair_distances[(N, 1)](H, rho, largest, put(pointers), put(pairs[:, 1]), R * C, R, C, **TILES)
    expected = (H[pairs[:, 0]] - H[pairs[:, 1]]).square().sum(-1)
    np.testing.assert_allclose(rho[:-1].cpu(), expected.cpu(), rtol=1e-5)
    np.testing.assert_array_equal(rho[-1].cpu(), 0)
    np.testing.assert_allclose(largest.cpu(), expected.amax(0).cpu(), rtol=1e-5)


@pytest.fixture
def measured(graph, tensor, device):
    """Squared distances of the pairs (the last row is that of self-loops), rates, some beyond the cap, and uses."""
    pairs, entry_pair = numbered_pairs(graph)
    rho = tensor(len(pairs) + 1, R).square()
    rho[-1] = 0
    rate = torch.tensor([0.5, 40.0, 1e4], device=device)
    return pairs, entry_pair, rho, rate, torch.tensor([1.0, 0.0, 1.0], device=device)


def test_degree_forward(graph, put, measured, device):
    _, entry_pair, rho, rate, uses = measured
    delta, d = torch.empty(N, R, device=device), torch.empty(N, R, device=device)
    kernels.degree_forward[(N, 1)](
        rho,
        rate,
        uses,
        delta,
        d,
        put(graph.indptr),
        put(entry_pair),
        R,
        LOG_PENALTY_CAP,
        BLOCK=4,
        num_warps=1,
    )
    penalties = (rho * rate).clamp_max(LOG_PENALTY_CAP).exp()[entry_pair]
    count = torch.from_numpy(graph.degree).to(device)[:, None]
    rows = torch.from_numpy(graph.rows).long().to(device)
    expected = count + uses * torch.zeros(N, R, device=device).index_add(0, rows, penalties) / count
    np.testing.assert_allclose(delta.cpu(), expected.cpu(), rtol=1e-4)
    np.testing.assert_allclose(d.cpu(), expected.rsqrt().cpu(), rtol=1e-4)


def test_degree_share(graph, tensor, measured, device):
    uses = measured[-1]
    log_scale, delta = tensor(N, R * C), tensor(N, R, seed=3).abs() + 1
    count = torch.from_numpy(graph.degree).float().to(device)
    share = torch.empty(N, R, device=device)
    kernels.degree_share[(N, 1)](log_scale, delta, uses, count, share, R * C, R, C, **TILES)
    expected = -0.5 * uses * log_scale.view(N, R, C).sum(-1) / (delta * count[:, None])
    np.testing.assert_allclose(share.cpu(), expected.cpu(), rtol=1e-4, atol=1e-6)


def test_pair_weights(put, tensor, measured):
    pairs, _, rho, rate, _ = measured
    share = tensor(N, R, seed=4)
    weight = rho.clone()
    kernels.pair_weights[(len(pairs), 1)](
        weight, rate, share, put(pairs[:, 0]), put(pairs[:, 1]), R, LOG_PENALTY_CAP, BLOCK=4, num_warps=1
    )
    exponent = rho[:-1] * rate
    slope = torch.where(exponent <= LOG_PENALTY_CAP, exponent.clamp_max(LOG_PENALTY_CAP).exp(), 0.0)
    expected = 2 * rate * slope * (share[pairs[:, 0]] + share[pairs[:, 1]])
    assert (slope == 0).any()
    assert (slope > 0).any()
    np.testing.assert_allclose(weight[:-1].cpu(), expected.cpu(), rtol=1e-3, atol=1e-5)


def test_degree_backward(graph, put, tensor, measured, dense):
    pairs, entry_pair, *_ = measured
    weight = tensor(len(pairs) + 1, R, seed=5)
    weight[-1] = 0
    H, before = tensor(N, R, C, seed=6), tensor(N, R, C, seed=7)
    to_head = before.clone()
    kernels.degree_backward[(N, 1)](
        H,
        weight,
        to_head,
        put(graph.indptr),
        put(graph.indices),
        put(entry_pair),
        R * C,
        R,
        C,
        NB=4,
        **COLUMNS,
    )
    q, i = torch.from_numpy(graph.rows).long(), torch.from_numpy(graph.indices).long()
    sent = weight[entry_pair].unsqueeze(-1) * (H[q] - H[i])
    expected = before.index_add(0, q.to(H.device), sent)
    np.testing.assert_allclose(to_head.cpu(), expected.cpu(), rtol=1e-3, atol=1e-4)
