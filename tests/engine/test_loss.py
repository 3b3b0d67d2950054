"""The loss is the mean cross-entropy of each replica's labelled rows."""

import numpy as np
import torch

from grande_gnn.engine import Replica
from grande_gnn.engine.loss import LabelledRows

CPU = torch.device("cpu")


def test_the_loss_gradient_is_that_of_the_mean_cross_entropy(problem):
    one = np.where(np.arange(40) == 3, 1, -1)
    rows = LabelledRows([Replica(problem.labels), Replica(one)], CPU)
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(19, 3))).requires_grad_()
    cross_entropy = torch.nn.functional.cross_entropy
    target = torch.from_numpy(problem.labels[problem.labels >= 0])
    loss = cross_entropy(logits[:18], target) + cross_entropy(logits[18:], torch.tensor([1]))
    (expected,) = torch.autograd.grad(loss, logits)
    np.testing.assert_allclose(rows.loss_gradient(logits.detach()), expected, rtol=1e-6)


def test_gather_and_scatter_are_inverse(problem):
    other = np.where(np.arange(40) >= 35, 0, -1)
    rows = LabelledRows([Replica(problem.labels), Replica(other)], CPU)
    Z = torch.randn(2, 40, 3, generator=torch.Generator().manual_seed(0))
    gathered = rows.gather(Z)
    np.testing.assert_array_equal(gathered, torch.cat([Z[0, :18], Z[1, 35:]]))
    back = rows.scatter(gathered, torch.zeros_like(Z))
    np.testing.assert_array_equal(back[0, :18], Z[0, :18])
    np.testing.assert_array_equal(back[1, 35:], Z[1, 35:])
    assert back.count_nonzero() == gathered.count_nonzero()


def test_weights_make_a_weighted_mean(problem):
    weights = np.random.default_rng(1).uniform(0.1, 3, 40)
    rows = LabelledRows([Replica(problem.labels, label_weights=weights), Replica(problem.labels)], CPU)
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(36, 3))).requires_grad_()
    known = problem.labels >= 0
    target, own = torch.from_numpy(problem.labels[known]), torch.from_numpy(weights[known])
    each = torch.nn.functional.cross_entropy(logits[:18], target, reduction="none")
    loss = (own * each).sum() / own.sum() + torch.nn.functional.cross_entropy(logits[18:], target)
    (expected,) = torch.autograd.grad(loss, logits)
    np.testing.assert_allclose(rows.loss_gradient(logits.detach()), expected, rtol=1e-6)


def test_equal_weights_are_no_weights_to_the_last_bit(problem):
    plain, equal = (
        LabelledRows([Replica(problem.labels, label_weights=w)], CPU) for w in (None, np.ones(40))
    )
    assert torch.equal(plain.weight, equal.weight)
    assert torch.equal(plain.weight, torch.full((18,), np.float32(1 / 18)))
